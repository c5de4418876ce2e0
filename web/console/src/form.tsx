// A form over settings: shows what is set and what nginx.conf says, sends only what was changed, and puts each refusal at its field.
import { useEffect, useRef, useState } from "preact/hooks";
import { type Answer, call, explain, Problem, type Value } from "./api.ts";
import { changes, type Field, fieldsOf, type Group, shown } from "./fields.ts";
import { many } from "./format.ts";
import { Note } from "./parts.tsx";

export interface Owner {
  saved: boolean; // what operators changed
  settings: Record<string, unknown>;
  file: Record<string, unknown>;
}

interface InputProps {
  id: string;
  field: Field;
  text: string;
  error: string | null;
  described: string;
  onText: (text: string) => void;
}

function Input({ id, field, text, error, described, onText }: InputProps) {
  const common = { id, name: field.name, value: text, "aria-invalid": error !== null, "aria-describedby": described };
  if (typeof field.kind !== "string") {
    return (
      <select {...common} onChange={(event) => onText(event.currentTarget.value)}>
        {field.kind.map((word) => <option key={word} value={word}>{word}</option>)}
      </select>
    );
  }
  if (field.kind === "long") return <textarea {...common} rows={2} maxLength={1000} onInput={(event) => onText(event.currentTarget.value)} />;
  const number = field.kind === "number" ? { inputMode: "numeric" as const } : {};
  return <input type="text" autoComplete="off" spellcheck={false} {...common} {...number} onInput={(event) => onText(event.currentTarget.value)} />;
}

interface SettingProps {
  field: Field;
  text: string;
  changed: boolean;
  fileText: string | null; // what nginx.conf says, where something else is set
  error: string | null;
  onText: (text: string) => void;
}

export function Setting({ field, text, changed, fileText, error, onText }: SettingProps) {
  const id = `field-${field.name}`;
  return (
    <div class={`setting${changed ? " changed" : ""}${field.kind === "long" ? " long" : ""}`}>
      <label for={id}>{field.label}</label>
      <Input id={id} field={field} text={text} error={error} described={`${id}-hint ${id}-error`} onText={onText} />
      <small id={`${id}-hint`}>{field.hint}</small>
      {fileText !== null && text !== fileText && (
        <button type="button" class="link" onClick={() => onText(fileText)}>Back to {fileText === "" ? "none" : fileText}, as in nginx.conf</button>
      )}
      <small id={`${id}-error`} class="problem" role={error ? "alert" : undefined}>{error}</small>
    </div>
  );
}

interface FormProps<T extends Owner> {
  path: string;
  answer: Answer<T>;
  groups: readonly Group[];
  inFile: boolean; // nginx.conf defines it, so that a setting can go back to what it says
  effect?: (body: Record<string, Value>) => string | null; // what a change will do to people, said before it is saved
  onSaved: (answer: Answer<T>) => void;
}

export function SettingsForm<T extends Owner>({ path, answer, groups, inFile, effect, onSaved }: FormProps<T>) {
  const [texts, setTexts] = useState<Record<string, string>>({});
  const [base, setBase] = useState(answer);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const form = useRef<HTMLFormElement>(null);
  const fields = fieldsOf(groups);
  const { settings } = base.data;
  const file = inFile ? base.data.file : {};
  const body = changes(fields, texts, settings, file);
  const count = Object.keys(body).length;
  const warning = effect?.(body) ?? null;
  const fieldError = (name: string) => (problem?.field === name ? problem.message : null);

  useEffect(() => {
    if (count === 0 && answer !== base) setBase(answer); // what is being edited stays put under the hand
  }, [answer, count]);
  useEffect(() => {
    const input = problem?.field ? form.current?.elements.namedItem(problem.field) : null;
    if (!(input instanceof HTMLElement)) return;
    input.closest("details")?.setAttribute("open", "");
    input.focus();
  }, [problem]);

  const save = async (etag: string | null) => {
    setProblem(null);
    setSaid(null);
    try {
      const saved = await call<T>("PUT", path, body satisfies Record<string, Value>, etag);
      setTexts({});
      setBase(saved);
      setSaid(
        saved.data.saved
          ? `${many(count, "change")} saved: in effect now.`
          : `${many(count, "change")} in effect now, but lost when nginx is restarted: the gateway cannot save. Its health tells why.`,
      );
      onSaved(saved);
    } catch (error) {
      setProblem(error instanceof Problem ? error : new Problem(0, explain(error)));
    }
  };
  const discard = () => {
    setTexts({});
    setProblem(null);
  };
  const write = (name: string, text: string) => {
    setSaid(null);
    setTexts({ ...texts, [name]: text });
  };

  return (
    <form
      ref={form}
      class="settings"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (count) void save(base.etag);
      }}
    >
      {groups.map((group, at) => (
        <details key={group.title} open={at === 0}>
          <summary>{group.title}</summary>
          <div class="fields">
            {group.fields.map((field) => (
              <Setting
                key={field.name}
                field={field}
                text={texts[field.name] ?? shown(settings[field.name])}
                changed={field.name in body}
                fileText={field.name in file ? shown(file[field.name]) : null}
                error={fieldError(field.name)}
                onText={(text) => write(field.name, text)}
              />
            ))}
          </div>
        </details>
      ))}
      {problem?.status === 412 && (
        <Note kind="warn">
          <p>Somebody else has changed these settings since you began. Nothing of yours was saved.</p>
          <div class="buttons">
            <button type="button" onClick={discard}>Show theirs, drop mine</button>
            <button type="button" onClick={() => void save(answer.etag)}>Save mine over it</button>
          </div>
        </Note>
      )}
      {problem && problem.status !== 412 && !fields.some((field) => field.name === problem.field) && <Note kind="bad">{problem.message}</Note>}
      {count > 0 && (
        <div class="savebar">
          <span>{many(count, "change")} not saved</span>
          {warning && <small>{warning}</small>}
          <div class="buttons">
            <button type="button" onClick={discard}>Discard</button>
            <button type="submit" class="primary">Save</button>
          </div>
        </div>
      )}
      <p class="said" role="status">{said}</p>
    </form>
  );
}
