import { encodeYaml } from '@multiplane/apimachinery';
import { useMemo, useState } from 'react';
import { collectionPath } from '../../data/api-paths.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useSchema, type KindSchema } from '../../hooks/use-schema.ts';
import { apiVersionOf, type ApiResource } from '../../model/discovery.ts';
import { formFields, objectOfForm, type FormField, type FormResult } from '../../model/object-form.ts';

export interface FormValues {
  readonly name: string;
  readonly namespace: string;
  /** By the key of the field. */
  readonly fields: ReadonlyMap<string, string>;
}

export interface NewObject {
  readonly mode: 'form' | 'yaml';
  readonly schema: KindSchema | undefined;
  readonly fields: readonly FormField[];
  readonly values: FormValues;
  readonly result: FormResult;
  readonly text: string;
  readonly error: string | undefined;
  readonly isBusy: boolean;
  readonly canSubmit: boolean;
  /** The YAML begins with what the form has. */
  readonly setMode: (mode: 'form' | 'yaml') => void;
  readonly setValues: (values: FormValues) => void;
  readonly setText: (text: string) => void;
  readonly create: () => void;
}

const noFields: readonly FormField[] = [];

/** An object that is being written, by a form of its schema or as YAML. */
export function useNewObject(
  {
    cluster,
    resource,
    namespace,
  }: { readonly cluster: string; readonly resource: ApiResource; readonly namespace: string },
  onCreated: (object: KubeObject) => void,
): NewObject {
  const { api } = useApp();
  const schema = useSchema(cluster, resource);
  const fields = useMemo(
    () => (schema === undefined ? noFields : formFields(schema.document, schema.schema)),
    [schema],
  );
  const [mode, setMode] = useState<'form' | 'yaml'>('form');
  const [values, setValues] = useState<FormValues>({ name: '', namespace, fields: new Map() });
  const [text, setText] = useState('');
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const result = useMemo(() => {
    const metadata = { name: values.name, ...(resource.isNamespaced ? { namespace: values.namespace } : {}) };
    return objectOfForm({ apiVersion: apiVersionOf(resource), kind: resource.kind, metadata }, fields, values.fields);
  }, [resource, fields, values]);
  const create = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    const path = collectionPath({
      cluster,
      ...resource,
      namespace: resource.isNamespaced ? values.namespace : undefined,
    });
    const content =
      mode === 'yaml'
        ? { contentType: 'application/yaml', body: text }
        : { contentType: 'application/json', body: JSON.stringify(result.object) };
    try {
      onCreated(
        await api.json<KubeObject>(`${path}?fieldValidation=Strict&fieldManager=multiplane-console`, {
          method: 'POST',
          ...content,
        }),
      );
    } catch (failure) {
      setError((failure as Error).message);
      setIsBusy(false);
    }
  };
  return {
    mode,
    schema,
    fields,
    values,
    result,
    text,
    error,
    isBusy,
    canSubmit: mode === 'yaml' ? text.trim() !== '' : values.name !== '' && result.problems.size === 0,
    setMode: (next) => {
      if (next === 'yaml') setText(encodeYaml(result.object));
      setMode(next);
      setError(undefined);
    },
    setValues,
    setText,
    create: () => void create(),
  };
}
