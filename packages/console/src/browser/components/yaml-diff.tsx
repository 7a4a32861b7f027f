import { lazy, Suspense, type ReactElement } from 'react';
import { Loading } from './loading.tsx';

export interface YamlDiffProps {
  readonly before: { readonly title: string; readonly text: string };
  readonly after: { readonly title: string; readonly text: string };
  /** The text on the right can be changed. */
  readonly onChange?: ((text: string) => void) | undefined;
}

const DiffView = lazy(async () => ({ default: (await import('../editor/diff-view.tsx')).DiffView }));

/** What differs between two texts in YAML. */
export const YamlDiff = (props: YamlDiffProps): ReactElement => (
  <Suspense fallback={<Loading label="Loading the differences" />}>
    <DiffView {...props} />
  </Suspense>
);
