// What a tab remembers over its own reloads. A browser may refuse storage; then nothing is remembered.
export class Memory {
  constructor(private readonly prefix: string) {}

  get(name: string): number {
    try {
      return Number(sessionStorage.getItem(this.prefix + name)) || 0;
    } catch {
      return 0;
    }
  }

  set(name: string, value: number): void {
    try {
      if (value) sessionStorage.setItem(this.prefix + name, String(value));
      else sessionStorage.removeItem(this.prefix + name);
    } catch {
      // not remembered
    }
  }
}
