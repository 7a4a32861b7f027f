import { useState } from 'react';
import { useToast } from '../../components/toast.tsx';
import { ApiError } from '../../data/api-error.ts';
import { objectPath } from '../../data/api-paths.ts';
import type { KubeObject } from '../../data/kube-object.ts';
import { useApp } from '../../hooks/app-context.ts';
import type { ApiResource } from '../../model/discovery.ts';
import { editableYaml } from '../../model/editable-object.ts';
import { mergeTexts, type MergedText } from '../../model/merge-texts.ts';

/** What is being changed, and what it was when the change began. */
interface Draft {
  readonly base: string;
  readonly text: string;
}

export interface Review {
  readonly before: string;
  /** What the server would store. */
  readonly after: string;
}

export interface Conflict {
  readonly theirs: string;
  readonly merged: MergedText;
}

export interface ObjectEdit {
  /** The text as it is shown. */
  readonly text: string;
  readonly isChanged: boolean;
  /** Somebody else changed the object since the change began. */
  readonly isOutdated: boolean;
  readonly review: Review | undefined;
  readonly conflict: Conflict | undefined;
  readonly error: string | undefined;
  readonly isBusy: boolean;
  readonly change: (text: string) => void;
  readonly discard: () => void;
  /** Tries the change at the server, and shows what it would do. */
  readonly startReview: () => void;
  readonly endReview: () => void;
  readonly save: () => void;
  readonly startMerge: () => void;
  readonly endMerge: () => void;
  /** Goes on with the result of a merge. */
  readonly resolve: (text: string) => void;
}

/** A change of an object: written, tried, compared, merged with what others wrote, and saved. */
export function useObjectEdit(cluster: string, resource: ApiResource, object: KubeObject): ObjectEdit {
  const { api } = useApp();
  const toast = useToast();
  const current = editableYaml(object);
  const [draft, setDraft] = useState<Draft>();
  const [review, setReview] = useState<Review>();
  const [conflict, setConflict] = useState<Conflict>();
  const [error, setError] = useState<string>();
  const [isBusy, setIsBusy] = useState(false);
  const { name, namespace } = object.metadata;
  const path = objectPath({ cluster, ...resource, namespace }, name);
  const put = (text: string, query: string): Promise<KubeObject> =>
    api.json<KubeObject>(`${path}?fieldValidation=Strict&fieldManager=multiplane-console${query}`, {
      method: 'PUT',
      contentType: 'application/yaml',
      body: text,
    });
  const meetOthers = async ({ base, text }: Draft): Promise<void> => {
    const theirs = editableYaml(await api.json<KubeObject>(path));
    setConflict({ theirs, merged: mergeTexts(base, text, theirs) });
  };
  const attempt = async (changed: Draft, action: () => Promise<void>): Promise<void> => {
    setIsBusy(true);
    setError(undefined);
    try {
      try {
        await action();
      } catch (failure) {
        setReview(undefined);
        if (!(failure instanceof ApiError && failure.code === 409 && failure.reason === 'Conflict')) throw failure;
        await meetOthers(changed);
      }
    } catch (failure) {
      setError((failure as Error).message);
    }
    setIsBusy(false);
  };
  const tryOut = (changed: Draft): Promise<void> =>
    attempt(changed, async () =>
      setReview({ before: changed.base, after: editableYaml(await put(changed.text, '&dryRun=All')) }),
    );
  const store = (changed: Draft): Promise<void> =>
    attempt(changed, async () => {
      await put(changed.text, '');
      setDraft(undefined);
      setReview(undefined);
      toast({ tone: 'good', title: `${name} is saved` });
    });
  const isChanged = draft !== undefined && draft.text !== draft.base;
  return {
    text: draft?.text ?? current,
    isChanged,
    isOutdated: isChanged && draft.base !== current,
    review,
    conflict,
    error,
    isBusy,
    change: (text) => {
      if (text !== (draft?.text ?? current)) setDraft({ base: draft?.base ?? current, text });
    },
    discard: () => {
      setDraft(undefined);
      setError(undefined);
    },
    startReview: () => {
      if (draft !== undefined) void tryOut(draft);
    },
    endReview: () => setReview(undefined),
    save: () => {
      if (draft !== undefined) void store(draft);
    },
    startMerge: () => {
      if (draft !== undefined) setConflict({ theirs: current, merged: mergeTexts(draft.base, draft.text, current) });
    },
    endMerge: () => setConflict(undefined),
    resolve: (text) => {
      if (conflict === undefined) return;
      const merged = { base: conflict.theirs, text };
      setConflict(undefined);
      setDraft(merged);
      void tryOut(merged);
    },
  };
}
