// A scripted gateway: it shows the built pages and answers the status endpoint with whatever a test has set. One visitor only.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Kind, Pages } from "../../web/waiting/pages.ts";
import type { Language } from "../../web/waiting/words/all.ts";
import { languages } from "../../web/waiting/words/all.ts";
import type { Gateway } from "./gateway.ts";
import { json, type Place, render, room } from "./render.ts";

export interface Reply {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

export class Fake implements Gateway {
  kind: Kind = "waiting";
  place: Place = { rank: 1342, waiting: 5210, eta: 420, retry_after: 3, paused: false, stale: false, message: null };
  state = "waiting";
  inside = false;
  reply: Reply | "broken" | null = null; // instead of the usual answer of the status endpoint
  hold: Promise<void> = Promise.resolve(); // page requests wait for it
  holdStatus: Promise<void> = Promise.resolve(); // so do answers of the status endpoint
  readonly asked: string[] = []; // "GET /path", in order
  url = "";
  private readonly server: Server;

  constructor(private readonly pages: Pages) {
    this.server = createServer((request, response) => void this.handle(request, response));
  }

  async start(): Promise<this> {
    await new Promise<void>((ready) => this.server.listen(0, "127.0.0.1", ready));
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
    return this;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  count(what: string): number {
    return this.asked.filter((line) => line === what).length;
  }

  statusCount(): number {
    return this.count(`GET /__fairway/${room}/status`);
  }

  async fill(ahead: number): Promise<void> {
    this.place = { ...this.place, rank: ahead + 1, waiting: ahead + 1, retry_after: 1 };
  }

  async advance(): Promise<void> {
    this.place = { ...this.place, rank: (this.place.rank ?? 2) - 1 };
  }

  async open(): Promise<void> {
    this.state = "admitted";
    this.inside = true;
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? "/";
    this.asked.push(`${request.method} ${path}`);
    response.setHeader("Cache-Control", "no-store");
    if (path === `/__fairway/${room}/status`) {
      await this.holdStatus;
      return this.status(request, response);
    }
    if (path === `/__fairway/${room}/leave`) {
      this.kind = "left";
      response.writeHead(303, { Location: `/__fairway/${room}/left` }).end();
      return;
    }
    await this.hold;
    if (this.inside) {
      response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>Shop</title><h1>Welcome in</h1>");
    } else {
      this.page(request, response);
    }
  }

  private status(request: IncomingMessage, response: ServerResponse): void {
    if (this.reply === "broken") {
      request.socket.destroy();
    } else if (this.reply) {
      response.writeHead(this.reply.status, this.reply.headers ?? {}).end(this.reply.body ?? "");
    } else {
      response.writeHead(200, { "Content-Type": "application/json" }).end(json(this.place, this.state));
    }
  }

  private page(request: IncomingMessage, response: ServerResponse): void {
    const wanted = (request.headers["accept-language"] ?? "").slice(0, 2);
    const language: Language = languages.find((known) => known === wanted) ?? "en";
    const headers = { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": this.pages.policy };
    response.writeHead(this.kind === "unavailable" ? 503 : 429, headers).end(render(this.pages, this.kind, language, this.place));
  }
}
