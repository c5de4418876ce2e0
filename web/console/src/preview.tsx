// What visitors see, with the room's own template and message. The pages' script rests: a preview is no visitor.
import { useState } from "preact/hooks";

const pages = [
  ["waiting", "In line"],
  ["busy", "Line full"],
  ["closed", "Closed"],
  ["unavailable", "Store down"],
  ["left", "Left"],
] as const;

export function Preview({ name, message }: { name: string; message: string }) {
  const [open, setOpen] = useState(false);
  const [page, setPage] = useState<string>("waiting");
  return (
    <details class="panel" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><h2>What visitors see</h2></summary>
      {open && (
        <>
          <div class="tabs" role="group" aria-label="Page">
            {pages.map(([kind, label]) => (
              <button key={kind} type="button" aria-pressed={page === kind} onClick={() => setPage(kind)}>{label}</button>
            ))}
          </div>
          <iframe key={`${page} ${message}`} class="preview" title={`Preview: ${page}`} sandbox="" src={`preview/${encodeURIComponent(name)}/${page}`} />
        </>
      )}
    </details>
  );
}
