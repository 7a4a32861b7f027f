import type { OpenApiDocument, OpenApiSchema } from '../model/openapi.ts';

export interface YamlEditorProps {
  readonly label: string;
  readonly value: string;
  /** Absent: the text can be read only. */
  readonly onChange?: (text: string) => void;
  /** Completes and explains its fields. */
  readonly schema?: { readonly document: OpenApiDocument; readonly schema: OpenApiSchema } | undefined;
}

export interface YamlDiffProps {
  readonly before: { readonly title: string; readonly text: string };
  readonly after: { readonly title: string; readonly text: string };
  /** The text on the right can be changed. */
  readonly onChange?: ((text: string) => void) | undefined;
}
