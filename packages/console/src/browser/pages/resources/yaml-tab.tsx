import { useMemo, useState, type ReactElement } from 'react';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Notice } from '../../components/notice.tsx';
import { useToast } from '../../components/toast.tsx';
import { YamlDiff } from '../../components/yaml-diff.tsx';
import { YamlEditor } from '../../components/yaml-editor.tsx';
import { ApiError } from '../../data/api-error.ts';
import { objectPath } from '../../data/api-paths.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import { useSchema } from '../../hooks/use-schema.ts';
import type { ApiResource } from '../../model/discovery.ts';
import { editableYaml } from '../../model/editable-object.ts';
import { mergeTexts, type MergedText } from '../../model/merge-texts.ts';

interface Review {
  readonly before: string;
  /** What the server would store. */
  readonly after: string;
}

interface Conflict {
  readonly theirs: string;
  readonly merged: MergedText;
}

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
  const { api } = useApp();
  const toast = useToast();
  const schema = useSchema(cluster, resource);
  const current = useMemo(() => editableYaml(object), [object]);
  /** What is being changed, and what it was when the change began; undefined before. */
  const [draft, setDraft] = useState<{ readonly base: string; readonly text: string }>();
  const [review, setReview] = useState<Review>();
  const [conflict, setConflict] = useState<Conflict>();
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const { name, namespace } = object.metadata;
  const path = `${objectPath({ cluster, ...resource, namespace }, name)}?fieldValidation=Strict&fieldManager=multiplane-console`;

  const put = (text: string, isDryRun: boolean): Promise<KubeObject> =>
    api.json<KubeObject>(isDryRun ? `${path}&dryRun=All` : path, {
      method: 'PUT',
      contentType: 'application/yaml',
      body: text,
    });
  const meetOthers = async (base: string, text: string): Promise<void> => {
    const latest = await api.json<KubeObject>(objectPath({ cluster, ...resource, namespace }, name));
    const theirs = editableYaml(latest);
    setReview(undefined);
    setConflict({ theirs, merged: mergeTexts(base, text, theirs) });
  };
  const attempt = async (action: () => Promise<void>, base: string, text: string): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      await action();
    } catch (failure) {
      if (failure instanceof ApiError && failure.code === 409 && failure.reason === 'Conflict')
        await meetOthers(base, text).catch((cause: unknown) => setError((cause as Error).message));
      else {
        setReview(undefined);
        setError((failure as Error).message);
      }
    }
    setIsBusy(false);
  };
  const showReview = (base: string, text: string): Promise<void> =>
    attempt(async () => setReview({ before: base, after: editableYaml(await put(text, true)) }), base, text);
  const save = (base: string, text: string): Promise<void> =>
    attempt(
      async () => {
        await put(text, false);
        setDraft(undefined);
        setReview(undefined);
        toast({ tone: 'good', title: `${name} is saved` });
      },
      base,
      text,
    );

  const isChanged = draft !== undefined && draft.text !== draft.base;
  const isOverwritten = isChanged && draft.base !== current;
  const mayChange = resource.verbs.includes('update');
  return (
    <div className="yaml-tab">
      {error !== undefined && (
        <Notice tone="bad" title="The server does not accept it">
          {error}
        </Notice>
      )}
      {isOverwritten && conflict === undefined && (
        <Notice
          tone="warn"
          title="Somebody changed the object meanwhile"
          action={
            <Button
              size="small"
              onClick={() => setConflict({ theirs: current, merged: mergeTexts(draft.base, draft.text, current) })}
            >
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
            {isChanged ? 'Changed, not saved' : mayChange ? 'Change the text to edit the object' : 'Read only'}
          </span>
          <div className="row">
            <CopyButton text={draft?.text ?? current} label="Copy the YAML" />
            {isChanged && (
              <Button
                size="small"
                variant="ghost"
                onClick={() => {
                  setDraft(undefined);
                  setError(undefined);
                }}
              >
                Discard
              </Button>
            )}
            {mayChange && (
              <Button
                size="small"
                variant="primary"
                disabled={!isChanged}
                isBusy={isBusy}
                onClick={() => {
                  if (draft !== undefined) void showReview(draft.base, draft.text);
                }}
              >
                Review changes
              </Button>
            )}
          </div>
        </div>
        <YamlEditor
          key={mayChange ? 'edit' : 'read'}
          label={`YAML of ${name}`}
          value={draft?.text ?? current}
          schema={schema}
          {...(mayChange
            ? {
                onChange: (text) => {
                  if (text !== (draft?.text ?? current)) setDraft({ base: draft?.base ?? current, text });
                },
              }
            : {})}
        />
      </div>
      {review !== undefined && draft !== undefined && (
        <ReviewDialog
          review={review}
          isBusy={isBusy}
          onClose={() => setReview(undefined)}
          onSave={() => void save(draft.base, draft.text)}
        />
      )}
      {conflict !== undefined && (
        <ConflictDialog
          conflict={conflict}
          onClose={() => setConflict(undefined)}
          onResolved={(text) => {
            setConflict(undefined);
            setDraft({ base: conflict.theirs, text });
            void showReview(conflict.theirs, text);
          }}
        />
      )}
    </div>
  );
}

function ReviewDialog({
  review,
  isBusy,
  onClose,
  onSave,
}: {
  readonly review: Review;
  readonly isBusy: boolean;
  readonly onClose: () => void;
  readonly onSave: () => void;
}): ReactElement {
  const isSame = review.before === review.after;
  const before = useMemo(() => ({ title: 'Now', text: review.before }), [review]);
  const after = useMemo(() => ({ title: 'After saving', text: review.after }), [review]);
  return (
    <Dialog
      title="Review the changes"
      size="full"
      description="The server has checked them, with defaults, admission and validation, without storing anything."
      onClose={onClose}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Back to the text
          </Button>
          <Button variant="primary" isBusy={isBusy} disabled={isSame} onClick={onSave}>
            Save
          </Button>
        </>
      }
    >
      {isSame ? (
        <Notice tone="info" title="Nothing would change">
          The server would store the same object again.
        </Notice>
      ) : (
        <YamlDiff before={before} after={after} />
      )}
    </Dialog>
  );
}

function ConflictDialog({
  conflict: { theirs, merged },
  onClose,
  onResolved,
}: {
  readonly conflict: Conflict;
  readonly onClose: () => void;
  readonly onResolved: (text: string) => void;
}): ReactElement {
  const [text, setText] = useState(merged.text);
  const before = useMemo(() => ({ title: 'Theirs, stored now', text: theirs }), [theirs]);
  const after = useMemo(() => ({ title: 'Yours, merged: you can change it', text: merged.text }), [merged]);
  const count = merged.conflicts.length;
  return (
    <Dialog
      title="Somebody else changed the object"
      size="full"
      description="Changes of both sides in different places are joined already."
      onClose={onClose}
      actions={
        <>
          <Button variant="ghost" onClick={onClose}>
            Cancel
          </Button>
          <Button variant="primary" onClick={() => onResolved(text)}>
            Review the result
          </Button>
        </>
      }
    >
      {count === 0 ? (
        <Notice tone="good" title="Your changes and theirs fit together" />
      ) : (
        <Notice
          tone="warn"
          title={count === 1 ? 'One place was changed by both' : `${count} places were changed by both`}
        >
          The right side has your version there (line {merged.conflicts.map(({ line }) => line).join(', ')}). Take
          theirs from the left where that is right.
        </Notice>
      )}
      <YamlDiff before={before} after={after} onChange={setText} />
    </Dialog>
  );
}
