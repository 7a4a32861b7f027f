import { lazy, Suspense, type ReactElement } from 'react';
import type { YamlEditorProps } from '../editor/yaml-props.ts';
import { Loading } from './loading.tsx';

const CodeEditor = lazy(async () => ({ default: (await import('../editor/code-editor.tsx')).CodeEditor }));

/** A text in YAML; the editor is loaded when the first one is shown. */
export const YamlEditor = (props: YamlEditorProps): ReactElement => (
  <Suspense fallback={<Loading label="Loading the editor" />}>
    <CodeEditor {...props} />
  </Suspense>
);
