import { isJsonObject, parseJson } from '@multiplane/apimachinery';

/** The user name in the owner annotation, which admission writes with groups and extra; undefined if it is malformed. */
export function ownerName(annotation: string): string | undefined {
  let owner: unknown;
  try {
    owner = parseJson(annotation);
  } catch {
    return undefined;
  }
  const username = isJsonObject(owner) ? owner['username'] : undefined;
  return typeof username === 'string' ? username : undefined;
}

/** The owner annotation of a Ready workspace: the user name only, as in kcp; undefined if it is malformed. */
export function redactedOwner(annotation: string): string | undefined {
  const username = ownerName(annotation);
  return username === undefined ? undefined : JSON.stringify({ username });
}
