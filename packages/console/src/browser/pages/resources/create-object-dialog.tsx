import type { ReactElement } from 'react';
import { useNavigate } from 'react-router';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useToast } from '../../components/toast.tsx';
import { YamlEditor } from '../../components/yaml-editor.tsx';
import type { ApiResource } from '../../model/discovery.ts';
import { objectUrl } from '../page-definition.ts';
import { ObjectForm } from './object-form.tsx';
import { useNewObject } from './use-new-object.ts';

/** Creates an object by a form made from its schema, or as YAML; then shows it. */
export function CreateObjectDialog({
  cluster,
  resource,
  namespace,
  onClose,
}: {
  readonly cluster: string;
  readonly resource: ApiResource;
  readonly namespace: string;
  readonly onClose: () => void;
}): ReactElement {
  const toast = useToast();
  const navigate = useNavigate();
  const draft = useNewObject({ cluster, resource, namespace }, ({ metadata }) => {
    toast({ tone: 'good', title: `${resource.kind} ${metadata.name} is created` });
    onClose();
    void navigate(objectUrl(cluster, resource, metadata.name, metadata.namespace));
  });
  return (
    <Dialog
      title={`Create ${resource.kind}`}
      size="large"
      description={
        <>
          In <code>{cluster}</code>
          {resource.isNamespaced && (
            <>
              , namespace <code>{draft.values.namespace}</code>
            </>
          )}
        </>
      }
      onClose={onClose}
      onSubmit={draft.create}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" isBusy={draft.isBusy} disabled={!draft.canSubmit}>
            Create
          </Button>
        </>
      }
    >
      {draft.error !== undefined && (
        <Notice tone="bad" title="The object is not created">
          {draft.error}
        </Notice>
      )}
      <Tabs
        label="How to write it"
        selected={draft.mode}
        onSelect={(mode) => draft.setMode(mode === 'yaml' ? 'yaml' : 'form')}
        tabs={[
          {
            id: 'form',
            label: 'Form',
            content: (
              <ObjectForm
                cluster={cluster}
                isNamespaced={resource.isNamespaced}
                fields={draft.fields}
                result={draft.result}
                values={draft.values}
                onChange={draft.setValues}
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
                  value={draft.text}
                  onChange={draft.setText}
                  schema={draft.schema}
                />
              </div>
            ),
          },
        ]}
      />
    </Dialog>
  );
}
