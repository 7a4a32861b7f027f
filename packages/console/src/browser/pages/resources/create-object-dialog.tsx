import { encodeYaml } from '@multiplane/apimachinery';
import { useMemo, useState, type ReactElement } from 'react';
import { useNavigate } from 'react-router';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { YamlEditor } from '../../components/yaml-editor.tsx';
import { useToast } from '../../components/toast.tsx';
import { collectionPath } from '../../data/api-paths.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useSchema } from '../../hooks/use-schema.ts';
import { apiVersionOf, type ApiResource } from '../../model/discovery.ts';
import { formFields, objectOfForm, type FormField } from '../../model/object-form.ts';
import { objectUrl } from '../page-definition.ts';
import { ObjectForm, type FormValues } from './object-form.tsx';

export interface CreateObjectDialogProps {
  readonly cluster: string;
  readonly resource: ApiResource;
  readonly namespace: string;
  readonly onClose: () => void;
}

const noFields: readonly FormField[] = [];

/** Creates an object by a form made from its schema, or as YAML; then shows it. */
export function CreateObjectDialog({ cluster, resource, namespace, onClose }: CreateObjectDialogProps): ReactElement {
  const { api } = useApp();
  const toast = useToast();
  const navigate = useNavigate();
  const schema = useSchema(cluster, resource);
  const fields = useMemo(
    () => (schema === undefined ? noFields : formFields(schema.document, schema.schema)),
    [schema],
  );
  const [mode, setMode] = useState('form');
  const [values, setValues] = useState<FormValues>({ name: '', namespace, fields: new Map() });
  const [text, setText] = useState('');
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const result = useMemo(() => {
    const base = {
      apiVersion: apiVersionOf(resource),
      kind: resource.kind,
      metadata: { name: values.name, ...(resource.isNamespaced ? { namespace: values.namespace } : {}) },
    };
    return objectOfForm(base, fields, values.fields);
  }, [resource, fields, values]);
  const canSubmit = mode === 'yaml' ? text.trim() !== '' : values.name !== '' && result.problems.size === 0;

  const select = (next: string): void => {
    if (next === 'yaml') setText(encodeYaml(result.object));
    setMode(next);
    setError(undefined);
  };
  const create = async (): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    const target = { cluster, ...resource, namespace: resource.isNamespaced ? values.namespace : undefined };
    const isYaml = mode === 'yaml';
    try {
      const created = await api.json<KubeObject>(
        `${collectionPath(target)}?fieldValidation=Strict&fieldManager=multiplane-console`,
        {
          method: 'POST',
          contentType: isYaml ? 'application/yaml' : 'application/json',
          body: isYaml ? text : JSON.stringify(result.object),
        },
      );
      const { name, namespace: own } = created.metadata;
      toast({ tone: 'good', title: `${resource.kind} ${name} is created` });
      onClose();
      void navigate(objectUrl(cluster, resource, name, own));
    } catch (failure) {
      setError((failure as Error).message);
      setIsBusy(false);
    }
  };
  return (
    <Dialog
      title={`Create ${resource.kind}`}
      size="large"
      description={
        <>
          In <code>{cluster}</code>
          {resource.isNamespaced && (
            <>
              , namespace <code>{values.namespace}</code>
            </>
          )}
        </>
      }
      onClose={onClose}
      onSubmit={() => void create()}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" isBusy={isBusy} disabled={!canSubmit}>
            Create
          </Button>
        </>
      }
    >
      {error !== undefined && (
        <Notice tone="bad" title="The object is not created">
          {error}
        </Notice>
      )}
      <Tabs
        label="How to write it"
        selected={mode}
        onSelect={select}
        tabs={[
          {
            id: 'form',
            label: 'Form',
            content: (
              <ObjectForm
                cluster={cluster}
                isNamespaced={resource.isNamespaced}
                fields={fields}
                result={result}
                values={values}
                onChange={setValues}
              />
            ),
          },
          {
            id: 'yaml',
            label: 'YAML',
            content: (
              <div className="editor-frame editor-frame-dialog">
                <YamlEditor
                  label={`YAML of the new ${resource.kind}`}
                  value={text}
                  onChange={setText}
                  schema={schema}
                />
              </div>
            ),
          },
        ]}
      />
    </Dialog>
  );
}
