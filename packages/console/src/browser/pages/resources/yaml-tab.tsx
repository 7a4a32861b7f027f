import type { ReactElement } from 'react';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Notice } from '../../components/notice.tsx';
import { YamlEditor } from '../../components/yaml-editor.tsx';
import type { KubeObject } from '../../data/kube-object.ts';
import { useSchema } from '../../hooks/use-schema.ts';
import type { ApiResource } from '../../model/discovery.ts';
import { ConflictDialog } from './conflict-dialog.tsx';
import { ReviewDialog } from './review-dialog.tsx';
import { useObjectEdit } from './use-object-edit.ts';

/** The object as YAML: changed here, tried at the server without storing it, compared, and saved. */
export function YamlTab({
  cluster,
  resource,
  object,
}: {
  readonly cluster: string;
  readonly resource: ApiResource;
  readonly object: KubeObject;
}): ReactElement {
  const schema = useSchema(cluster, resource);
  const edit = useObjectEdit(cluster, resource, object);
  const mayChange = resource.verbs.includes('update');
  return (
    <div className="yaml-tab">
      {edit.error !== undefined && (
        <Notice tone="bad" title="The server does not accept it">
          {edit.error}
        </Notice>
      )}
      {edit.isOutdated && edit.conflict === undefined && (
        <Notice
          tone="warn"
          title="Somebody changed the object meanwhile"
          action={
            <Button size="small" onClick={edit.startMerge}>
              Merge
            </Button>
          }
        >
          Your text is based on an older version.
        </Notice>
      )}
      <div className="editor-frame">
        <div className="editor-bar">
          <span>
            {edit.isChanged ? 'Changed, not saved' : mayChange ? 'Change the text to edit the object' : 'Read only'}
          </span>
          <div className="row">
            <CopyButton text={edit.text} label="Copy the YAML" />
            {edit.isChanged && (
              <Button size="small" variant="ghost" onClick={edit.discard}>
                Discard
              </Button>
            )}
            {mayChange && (
              <Button
                size="small"
                variant="primary"
                disabled={!edit.isChanged}
                isBusy={edit.isBusy}
                onClick={edit.startReview}
              >
                Review changes
              </Button>
            )}
          </div>
        </div>
        <YamlEditor
          label={`YAML of ${object.metadata.name}`}
          value={edit.text}
          schema={schema}
          {...(mayChange ? { onChange: edit.change } : {})}
        />
      </div>
      {edit.review !== undefined && (
        <ReviewDialog review={edit.review} isBusy={edit.isBusy} onClose={edit.endReview} onSave={edit.save} />
      )}
      {edit.conflict !== undefined && (
        <ConflictDialog conflict={edit.conflict} onClose={edit.endMerge} onResolved={edit.resolve} />
      )}
    </div>
  );
}
