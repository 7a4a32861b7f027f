import { parseYamlStrict, type ParsedYaml } from '@multiplane/apimachinery';

/**
 * What stands in a YAML text. Every call gives a new value, which the caller may change; throws `YamlSyntaxError` when
 * the text is none.
 */
export type YamlDocument = () => ParsedYaml;

/** Reads YAML bodies. */
export interface YamlReader {
  /** Never rejects because of what stands in the body: the document throws that. */
  read(body: Buffer): Promise<YamlDocument>;
}

/** Reads at once, in the caller's turn: for short texts, and where nobody waits. */
export const inlineYamlReader: YamlReader = {
  read: (body) => Promise.resolve(() => parseYamlStrict(body)),
};
