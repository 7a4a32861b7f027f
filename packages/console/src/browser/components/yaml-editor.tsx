import { lazy, Suspense, type ReactElement } from 'react';
import type { OpenApiDocument, OpenApiSchema } from '../model/openapi.ts';
import { Loading } from './loading.tsx';

export interface YamlEditorProps {
  readonly label: string;
  readonly value: string;
  /** Absent: the text can be read only. */
  readonly onChange?: (text: string) => void;
  /** Completes and explains its fields. */
  readonly schema?: { readonly document: OpenApiDocument; readonly schema: OpenApiSchema } | undefined;
}

const CodeEditor = lazy(async () => ({ default: (await import('../editor/code-editor.tsx')).CodeEditor }));

/** A text in YAML; the editor is loaded when the first one is shown. */
export const YamlEditor = (props: YamlEditorProps): ReactElement => (
  <Suspense fallback={<Loading label="Loading the editor" />}>
    <CodeEditor {...props} />
  </Suspense>
);
