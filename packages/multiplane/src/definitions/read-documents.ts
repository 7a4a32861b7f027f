import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { isJsonObject, parseYaml, type JsonObject } from '@multiplane/apimachinery';

/** The objects of a YAML or JSON file; `-` is standard input. */
export async function readDocuments(filename: string): Promise<JsonObject[]> {
  return documentsOf(await read(filename));
}

async function read(filename: string): Promise<string> {
  // Reading the descriptor of an empty pipe fails with EAGAIN.
  if (filename === '-') return text(process.stdin);
  try {
    return await readFile(filename, 'utf8');
  } catch (cause) {
    const reason =
      (cause as NodeJS.ErrnoException).code === 'ENOENT' ? 'no such file or directory' : (cause as Error).message;
    throw new Error(`error opening ${filename}: open ${filename}: ${reason}`, { cause });
  }
}

function documentsOf(text: string): JsonObject[] {
  return text
    .split(/^---(?:[ \t].*)?$/m)
    .filter((part) => part.trim() !== '')
    .map((part) => parseYaml(part))
    .filter(isJsonObject);
}
