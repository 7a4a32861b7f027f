import { parseYamlIncrementally, type ParsedYaml } from '@multiplane/apimachinery';

/** Parsed YAML. Each call makes a new value, which the caller may modify, in passes; throws `YamlSyntaxError` for invalid text. */
export type YamlDocument = () => Generator<void, ParsedYaml>;

/** The request of a body. */
export interface YamlRequest {
  /** Its logical cluster: bodies of one are read one after the other. */
  readonly cluster: string;
  /** Ends the work when it aborts; read for long bodies only. */
  readonly request: { readonly signal?: AbortSignal | undefined };
}

/** Reads YAML bodies. */
export interface YamlReader {
  /** Syntax errors are thrown by the document; a rejection means that the reader is overloaded or stopped. */
  read(body: Buffer, request?: YamlRequest): Promise<YamlDocument>;
}

/** Parses synchronously; for short texts, and for tests. */
export const inlineYamlReader: YamlReader = {
  read: (body) => Promise.resolve(() => parseYamlIncrementally(body)),
};
