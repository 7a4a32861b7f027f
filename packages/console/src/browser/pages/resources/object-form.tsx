import { useMemo, useState, type ReactElement } from 'react';
import { Field } from '../../components/field.tsx';
import { collectionPath } from '../../data/api-paths.ts';
import { objectCodec } from '../../data/codec.ts';
import { useLiveList } from '../../hooks/use-live-list.ts';
import { fieldKey, fieldTitle, type FormField, type FormResult } from '../../model/object-form.ts';
import type { FormValues } from './use-new-object.ts';

/** A form for an object, made from its schema. */
export function ObjectForm({
  cluster,
  isNamespaced,
  fields,
  result,
  values,
  onChange,
}: {
  readonly cluster: string;
  readonly isNamespaced: boolean;
  readonly fields: readonly FormField[];
  readonly result: FormResult;
  readonly values: FormValues;
  readonly onChange: (values: FormValues) => void;
}): ReactElement {
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const set = (key: string, value: string): void => {
    setTouched((all) => new Set([...all, key]));
    onChange({ ...values, fields: new Map([...values.fields, [key, value]]) });
  };
  return (
    <div className="form">
      <Field label="Name" hint="Lower case letters, digits, hyphens and dots.">
        {(control) => (
          <input
            {...control}
            className="input input-mono"
            name="name"
            autoComplete="off"
            spellCheck={false}
            autoFocus
            value={values.name}
            onChange={(event) => onChange({ ...values, name: event.target.value })}
          />
        )}
      </Field>
      {isNamespaced && (
        <NamespaceField
          cluster={cluster}
          value={values.namespace}
          onChange={(namespace) => onChange({ ...values, namespace })}
        />
      )}
      {fields.map((field) => {
        const key = fieldKey(field);
        const problem = result.problems.get(key);
        return (
          <Field
            key={key}
            label={fieldTitle(field)}
            detail={key}
            isOptional={!field.isRequired}
            error={touched.has(key) ? problem : undefined}
            hint={<span className="clamp-3">{hintOf(field)}</span>}
          >
            {(control) => (
              <Control
                field={field}
                control={control}
                value={values.fields.get(key) ?? field.initial}
                onChange={(value) => set(key, value)}
              />
            )}
          </Field>
        );
      })}
    </div>
  );
}

const hintOf = ({ kind, description }: FormField): string =>
  [kind === 'list' ? 'One per line.' : kind === 'map' ? 'One name=value per line.' : '', description ?? '']
    .filter((text) => text !== '')
    .join(' ');

function Control({
  field,
  control,
  value,
  onChange,
}: {
  readonly field: FormField;
  readonly control: {
    readonly id: string;
    readonly 'aria-describedby': string | undefined;
    readonly 'aria-invalid': boolean;
  };
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactElement {
  switch (field.kind) {
    case 'choice':
    case 'boolean':
      return (
        <select {...control} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          <option value="">Not set</option>
          {(field.kind === 'boolean' ? ['true', 'false'] : field.choices).map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      );
    case 'list':
    case 'map':
      return (
        <textarea
          {...control}
          className="input input-mono"
          rows={3}
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      );
    case 'text':
    case 'integer':
    case 'number':
      return (
        <input
          {...control}
          className="input"
          inputMode={field.kind === 'text' ? undefined : 'decimal'}
          autoComplete="off"
          spellCheck={false}
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      );
  }
}

function NamespaceField({
  cluster,
  value,
  onChange,
}: {
  readonly cluster: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}): ReactElement {
  const options = useMemo(
    () => ({ path: collectionPath({ cluster, group: '', version: 'v1', resource: 'namespaces' }), codec: objectCodec }),
    [cluster],
  );
  const names = useLiveList(options).items.map(({ metadata }) => metadata.name);
  return (
    <Field label="Namespace">
      {(control) => (
        <select {...control} className="input" value={value} onChange={(event) => onChange(event.target.value)}>
          {[...new Set([...names, value])].sort().map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </Field>
  );
}
