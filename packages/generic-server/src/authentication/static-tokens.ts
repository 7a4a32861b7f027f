import type { UserInfo } from '@multiplane/apimachinery';
import type { AuthenticationResponse, MaybePromise, TokenAuthenticator } from './authenticator.ts';
import { tokenDigest, TokenDigests } from './token-digests.ts';

/**
 * Static tokens: those of `--token-auth-file` and the tokens of `admin.kubeconfig`. Only hashes outlive the connection of the
 * client, so tokens can be found neither in a heap dump nor by timing comparisons.
 */
export class StaticTokenAuthenticator implements TokenAuthenticator {
  readonly #users = new Map<string, UserInfo>();
  readonly #digests = new TokenDigests();

  /** A later user of the same token replaces an earlier one. */
  add(token: string, user: UserInfo): void {
    if (token !== '') this.#users.set(tokenDigest(token), user);
  }

  /** Adds a token by its SHA-256 hash. */
  addHash(sha256: Buffer, user: UserInfo): void {
    this.#users.set(sha256.toString('base64'), user);
  }

  authenticateToken(
    token: string,
    _audiences?: readonly string[],
    connection?: object,
  ): MaybePromise<AuthenticationResponse | undefined> {
    const user = this.#users.get(this.#digests.of(token, connection));
    return user === undefined ? undefined : { user };
  }
}

/**
 * Parses a token file with CSV lines `token,user,uid[,"group1,group2"]`; lines with an empty token are skipped. Throws an Error
 * with the line number for a line with fewer than three columns or an unclosed quote.
 */
export function parseTokenFile(text: string): { token: string; user: UserInfo }[] {
  const entries: { token: string; user: UserInfo }[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const columns = csvColumns(line, index + 1);
    if (columns.length < 3)
      throw new Error(
        `token file, line ${index + 1}: expected at least the columns token, user and uid, found ${columns.length} columns`,
      );
    const [token, name, uid, groups] = columns as [string, string, string, string | undefined];
    if (token === '') continue;
    entries.push({
      token,
      user: {
        name,
        uid,
        groups: (groups ?? '')
          .split(',')
          .map((group) => group.trim())
          .filter((group) => group !== ''),
        extra: {},
      },
    });
  }
  return entries;
}

function csvColumns(line: string, lineNumber: number): string[] {
  const columns: string[] = [];
  let column = '';
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    const char = line[i] as string;
    if (quoted) {
      if (char !== '"') column += char;
      else if (line[i + 1] === '"') column += line[++i];
      else quoted = false;
    } else if (char === '"' && column.trim() === '') {
      column = '';
      quoted = true;
    } else if (char === ',') {
      columns.push(column.trim());
      column = '';
    } else column += char;
  }
  if (quoted) throw new Error(`token file, line ${lineNumber}: unclosed quote`);
  columns.push(column.trim());
  return columns;
}
