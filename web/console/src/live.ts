// What is shown is asked for again and again while the page can be seen.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Answer, explain, get } from "./api.ts";
import { type HistoryAnswer, Series } from "./series.ts";

// Calls `turn` now and then `every` ms after each has ended; rests while the page is hidden. The returned function asks at once.
export function useTurns(turn: () => Promise<void>, every: number, key: string): () => void {
  const latest = useRef(turn);
  latest.current = turn;
  const ask = useRef(() => {});
  useEffect(() => {
    let timer = 0;
    let busy = false;
    let again = false;
    let over = false;
    const run = async () => {
      if (busy) {
        again = true;
        return;
      }
      clearTimeout(timer);
      busy = true;
      do {
        again = false;
        await latest.current();
      } while (again && !over);
      busy = false;
      if (!over && !document.hidden) timer = window.setTimeout(run, every);
    };
    const seen = () => {
      if (!document.hidden) void run();
    };
    ask.current = () => void run();
    document.addEventListener("visibilitychange", seen);
    void run();
    return () => {
      over = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [every, key]);
  return useCallback(() => ask.current(), []);
}

export interface Live<T> {
  answer: Answer<T> | null; // the latest there was
  error: string | null; // of the latest call
  refresh: () => void;
  show: (answer: Answer<T>) => void; // what a change has answered
  look: () => Promise<void>; // asks at once; done when the answer is shown, or there is none
}

export function useLive<T>(path: string, every = 1000): Live<T> {
  const [state, setState] = useState<{ path: string; answer: Answer<T> | null; error: string | null }>({ path, answer: null, error: null });
  const wanted = useRef(path);
  wanted.current = path;
  const changes = useRef(0);
  const refresh = useTurns(
    async () => {
      const before = changes.current;
      try {
        const answer = await get<T>(path);
        // what was asked before a change may be older than the change's own answer
        if (wanted.current === path && changes.current === before) setState({ path, answer, error: null });
      } catch (error) {
        if (wanted.current === path) setState((old) => ({ path, answer: old.path === path ? old.answer : null, error: explain(error) }));
      }
    },
    every,
    path,
  );
  const show = useCallback((answer: Answer<T>) => {
    ++changes.current;
    setState({ path: wanted.current, answer, error: null });
  }, []);
  const look = useCallback(async () => {
    try {
      const answer = await get<T>(wanted.current);
      show(answer);
    } catch {
      // the next turn says why
    }
  }, [show]);
  const current = state.path === path ? state : { answer: null, error: null };
  return { answer: current.answer, error: current.error, refresh, show, look };
}

export interface History {
  series: Series;
  version: number; // grows with each change of the series
}

export function useHistory(path: string, names: readonly string[], every = 1000): History {
  const key = `${path} ${names.join(" ")}`;
  const held = useRef<{ key: string; series: Series }>({ key: "", series: new Series(names) });
  if (held.current.key !== key) held.current = { key, series: new Series(names) };
  const [version, setVersion] = useState(0);
  useTurns(
    async () => {
      const { series } = held.current;
      try {
        const { data } = await get<HistoryAnswer>(`${path}?since=${series.since}`);
        series.take(data);
        setVersion((old) => old + 1);
      } catch {
        // the page shows that the gateway is not there; the chart stays as it is
      }
    },
    every,
    key,
  );
  return { series: held.current.series, version };
}
