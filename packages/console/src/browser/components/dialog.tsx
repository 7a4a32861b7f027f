import { useEffect, useId, useRef, type ReactElement, type ReactNode, type SubmitEvent } from 'react';
import { IconButton } from './icon-button.tsx';

export interface DialogProps {
  readonly title: string;
  readonly description?: ReactNode;
  readonly size?: 'small' | 'medium' | 'large' | 'full';
  readonly onClose: () => void;
  /** Buttons at the lower edge; the first one cancels by custom. */
  readonly actions?: ReactNode;
  /** Makes a form of the dialog: Enter in a field does the same as its submit button. */
  readonly onSubmit?: () => void;
  readonly children: ReactNode;
}

/** A modal dialog while it is mounted. The browser keeps the focus inside, and Escape closes it. */
export function Dialog(props: DialogProps): ReactElement {
  const { title, description, size = 'medium', onClose, actions, onSubmit, children } = props;
  const ref = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = ref.current;
    if (dialog !== null && !dialog.open) dialog.showModal();
    return () => dialog?.close();
  }, []);
  const content = (
    <>
      <header className="dialog-header">
        <div>
          <h2 id={titleId}>{title}</h2>
          {description !== undefined && <p className="muted">{description}</p>}
        </div>
        <IconButton icon="close" label="Close" onClick={onClose} />
      </header>
      {/* Focusable, so that its content can be scrolled by the keyboard. */}
      <div className="dialog-body" tabIndex={-1}>
        {children}
      </div>
      {actions !== undefined && <footer className="dialog-footer">{actions}</footer>}
    </>
  );
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <dialog
      ref={ref}
      className={`dialog dialog-${size}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onPointerDown={(event) => {
        // The backdrop belongs to the dialog itself.
        if (event.target === event.currentTarget) onClose();
      }}
    >
      {onSubmit === undefined ? (
        <div className="dialog-content">{content}</div>
      ) : (
        <form className="dialog-content" onSubmit={submit}>
          {content}
        </form>
      )}
    </dialog>
  );
}
