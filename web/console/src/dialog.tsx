// Dialogs: the browser's own, which keeps the focus inside, gives it back, and closes at Esc.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { explain } from "./api.ts";

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const place = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = place.current;
    const before = document.activeElement;
    dialog?.showModal();
    return () => {
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={place}
      aria-labelledby="dialog-title"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <h2 id="dialog-title">{title}</h2>
      {children}
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  action: string; // on the button
  danger?: boolean;
  onConfirm: () => Promise<void>; // closes the dialog itself when it went well; what it throws is shown
  onClose: () => void;
  children: ComponentChildren;
}

export function Confirm({ title, action, danger = false, onConfirm, onClose, children }: ConfirmProps) {
  const [error, setError] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const confirm = async () => {
    setBusy(true);
    setError(null);
    try {
      await onConfirm();
    } catch (problem) {
      setError(explain(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="dialog-text">{children}</div>
      {error && <p class="problem" role="alert">{error}</p>}
      <div class="buttons">
        <button type="button" onClick={onClose}>Cancel</button>
        <button type="button" class={danger ? "danger" : "primary"} disabled={busy} onClick={confirm}>{action}</button>
      </div>
    </Dialog>
  );
}
