// What a tab remembers over its own reloads. A browser may refuse storage; then nothing is remembered.
export function remember(room: string) {
  const key = (name: string) => `fairway:${room}:${name}`;
  return {
    get(name: string): number {
      try {
        return Number(sessionStorage.getItem(key(name))) || 0;
      } catch {
        return 0;
      }
    },
    set(name: string, value: number): void {
      try {
        sessionStorage.setItem(key(name), String(value));
      } catch {
        // not remembered
      }
    },
  };
}
