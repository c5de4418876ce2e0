// What a scenario needs from a gateway. The scripted one is in fake.ts; with GATEWAY_URL set (an address that a room with a small
// capacity covers, and that nobody else uses) the scenarios run against a real one.
import http from "node:http";

export interface Gateway {
  readonly url: string;
  fill(ahead: number): Promise<void>; // the room is full, and so many wait before whoever comes next
  advance(): Promise<void>; // one of those in front leaves the line
  open(): Promise<void>; // all in front leave the line, and one slot becomes free
  stop(): Promise<void>; // everybody this made is gone
}

type Cookies = Map<string, string>;

const mostSessions = 200;

interface Answer {
  status: number;
  text: string;
}

// What it sets goes into `cookies`. By hand: Debian's Node.js cannot tell several Set-Cookie of a fetch apart.
function request(url: string, cookies: Cookies, method = "GET"): Promise<Answer> {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  return new Promise((resolve, reject) => {
    const sent = http.request(url, { method, headers: { Accept: "application/json", ...(cookie ? { Cookie: cookie } : {}) } }, (response) => {
      for (const line of response.headers["set-cookie"] ?? []) {
        const [pair = ""] = line.split(";");
        const at = pair.indexOf("=");
        cookies.set(pair.slice(0, at), pair.slice(at + 1));
      }
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (part: string) => (text += part));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end();
  });
}

export class RealGateway implements Gateway {
  private readonly inside: Cookies[] = [];
  private readonly ahead: Cookies[] = [];
  private room = "";

  constructor(readonly url: string) {}

  async fill(ahead: number): Promise<void> {
    while (this.ahead.length < ahead + 1) {
      if (this.inside.length + this.ahead.length > mostSessions) throw new Error(`${this.url}: no line after ${mostSessions} sessions`);
      const cookies: Cookies = new Map();
      await request(this.url, cookies); // a ticket
      const entered = await request(this.url, cookies);
      if (entered.status === 429) {
        this.room = (JSON.parse(entered.text) as { room: string }).room;
        this.ahead.push(cookies);
      } else {
        this.inside.push(cookies);
      }
    }
    await this.leave(this.ahead.pop()); // that one only showed that the line had formed
  }

  advance(): Promise<void> {
    return this.leave(this.ahead.shift());
  }

  async open(): Promise<void> {
    while (this.ahead.length) await this.leave(this.ahead.shift());
    await this.leave(this.inside.shift());
  }

  async stop(): Promise<void> {
    for (const cookies of [...this.ahead.splice(0), ...this.inside.splice(0)]) await this.leave(cookies);
  }

  private async leave(cookies: Cookies | undefined): Promise<void> {
    if (!cookies) throw new Error("nobody is left to leave");
    const response = await request(new URL(`/__fairway/${this.room}/leave`, this.url).href, cookies, "POST");
    if (response.status !== 204) throw new Error(`leave: ${response.status}`);
  }
}
