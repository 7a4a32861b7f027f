import { parseYamlStrict, type ParsedYaml } from '@multiplane/apimachinery';

/** Parsed YAML. Each call returns a new value, which the caller may modify; throws `YamlSyntaxError` for invalid text. */
export type YamlDocument = () => ParsedYaml;

/** Reads YAML bodies. */
export interface YamlReader {
  /** Syntax errors are thrown by the document; a rejection means that the reader is overloaded or stopped. */
  read(body: Buffer): Promise<YamlDocument>;
}

/** Parses synchronously; for short texts, and for tests. */
export const inlineYamlReader: YamlReader = {
  read: (body) => Promise.resolve(() => parseYamlStrict(body)),
};
