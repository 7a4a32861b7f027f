import { useId, type ReactElement, type ReactNode } from 'react';

interface FieldProps {
  readonly label: string;
  readonly hint?: ReactNode;
  readonly error?: string | undefined;
  /** Beside the label: the path of the field in an object. */
  readonly detail?: string;
  readonly isOptional?: boolean;
  /** Renders the control with what ties it to its label, hint and error. */
  readonly children: (control: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': boolean;
  }) => ReactNode;
}

/** A control of a form with its label above, and below it what belongs there or what is wrong. */
export function Field({ label, hint, error, detail, isOptional = false, children }: FieldProps): ReactElement {
  const id = useId();
  const noteId = `${id}-note`;
  const hasNote = hint !== undefined || error !== undefined;
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {detail !== undefined && <code className="field-detail">{detail}</code>}
        {isOptional && <span className="field-optional">optional</span>}
      </label>
      {children({ id, 'aria-describedby': hasNote ? noteId : undefined, 'aria-invalid': error !== undefined })}
      {hasNote && (
        <div id={noteId} className={error === undefined ? 'field-hint' : 'field-error'}>
          {error ?? hint}
        </div>
      )}
    </div>
  );
}
