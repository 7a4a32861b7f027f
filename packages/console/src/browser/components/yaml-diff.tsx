import { lazy, Suspense, type ReactElement } from 'react';
import type { YamlDiffProps } from '../editor/yaml-props.ts';
import { Loading } from './loading.tsx';

const DiffView = lazy(async () => ({ default: (await import('../editor/diff-view.tsx')).DiffView }));

/** What differs between two texts in YAML. */
export const YamlDiff = (props: YamlDiffProps): ReactElement => (
  <Suspense fallback={<Loading label="Loading the differences" />}>
    <DiffView {...props} />
  </Suspense>
);
