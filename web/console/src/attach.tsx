// Where a room is asked: hosts and paths of locations that say "waiting_room auto".
import { useEffect, useState } from "preact/hooks";
import { type Answer, call, explain, type Place, type Room, roomPath } from "./api.ts";
import { Note } from "./parts.tsx";

const mostPlaces = 16; // as the API has it
const same = (a: readonly Place[], b: readonly Place[]) => JSON.stringify(a) === JSON.stringify(b);

export function Attach({ answer, onSaved }: { answer: Answer<Room>; onSaved: (answer: Answer<Room>) => void }) {
  const [base, setBase] = useState(answer);
  const [places, setPlaces] = useState<Place[]>(answer.data.settings.attach);
  const [error, setError] = useState<string | null>(null);
  const [said, setSaid] = useState("");
  const changed = !same(places, base.data.settings.attach);
  useEffect(() => {
    if (changed || answer === base) return;
    setBase(answer);
    setPlaces(answer.data.settings.attach);
  }, [answer, changed]);
  const write = (at: number, part: Partial<Place>) => setPlaces(places.map((place, i) => (i === at ? { ...place, ...part } : place)));
  const save = async () => {
    setError(null);
    try {
      const attach = places.filter(({ host }) => host.trim() !== "").map(({ host, path }) => ({ host: host.trim(), path: path.trim() || "/" }));
      const saved = await call<Room>("PUT", roomPath(base.data.name), { attach }, base.etag);
      setBase(saved);
      setPlaces(saved.data.settings.attach);
      setSaid("Saved: in effect now.");
      onSaved(saved);
    } catch (problem) {
      setError(explain(problem));
    }
  };
  return (
    <section class="panel" aria-labelledby="attach-title">
      <h2 id="attach-title">Attached to</h2>
      <p class="quiet">Hosts and paths where visitors pass this room, in locations with “waiting_room auto”.</p>
      <form
        class="attach"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        {places.map((place, at) => (
          <div class="place" key={at}>
            <input type="text" aria-label={`Host ${at + 1}`} placeholder="shop.example.com" autoComplete="off" spellcheck={false} value={place.host} onInput={(event) => write(at, { host: event.currentTarget.value })} />
            <input type="text" aria-label={`Path ${at + 1}`} placeholder="/" autoComplete="off" spellcheck={false} value={place.path} onInput={(event) => write(at, { path: event.currentTarget.value })} />
            <button type="button" class="icon" aria-label={`Remove ${place.host || "this"}${place.path}`} onClick={() => setPlaces(places.filter((_, i) => i !== at))}>×</button>
          </div>
        ))}
        {places.length === 0 && <p>Nowhere.</p>}
        {error && <Note kind="bad">{error}</Note>}
        <div class="buttons start">
          <button type="button" disabled={places.length >= mostPlaces} onClick={() => setPlaces([...places, { host: "", path: "/" }])}>Add a place</button>
          {changed && <button type="button" onClick={() => setPlaces(base.data.settings.attach)}>Discard</button>}
          {changed && <button type="submit" class="primary">Save places</button>}
        </div>
      </form>
      <p class="said" role="status">{changed ? "" : said}</p>
    </section>
  );
}
