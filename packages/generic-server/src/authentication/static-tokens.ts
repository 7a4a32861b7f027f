import type { UserInfo } from '@multiplane/apimachinery';
import type { AuthenticationResponse, Soon, TokenAuthenticator } from './authenticator.ts';
import { tokenDigest, TokenDigests } from './token-digests.ts';

/**
 * Tokens that are known beforehand: those of `--token-auth-file` and the ones made for `admin.kubeconfig`. Only hashes
 * are kept beyond the connection of their owner, so neither a heap dump nor the time of a comparison tells a token.
 */
export class StaticTokenAuthenticator implements TokenAuthenticator {
  readonly #users = new Map<string, UserInfo>();
  readonly #digests = new TokenDigests();

  /** The last user of a token wins, as in a token file. */
  add(token: string, user: UserInfo): void {
    if (token !== '') this.#users.set(tokenDigest(token), user);
  }

  /** The same with `sha256(token)` instead of the token. */
  addHash(sha256: Buffer, user: UserInfo): void {
    this.#users.set(sha256.toString('base64'), user);
  }

  authenticateToken(
    token: string,
    _audiences?: readonly string[],
    connection?: object,
  ): Soon<AuthenticationResponse | undefined> {
    const user = this.#users.get(this.#digests.of(token, connection));
    return user === undefined ? undefined : { user };
  }
}

/**
 * Reads a token file: lines of `token,user,uid[,"group1,group2"]` in CSV (K7.2); blank tokens are skipped.
 * Throws an Error that names the line for one with fewer than three columns or an open quote.
 */
export function parseTokenFile(text: string): { token: string; user: UserInfo }[] {
  const entries: { token: string; user: UserInfo }[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const columns = csvColumns(line, index + 1);
    if (columns.length < 3)
      throw new Error(
        `token file, line ${index + 1}: at least token, user name and user id are needed, found ${columns.length} columns`,
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
  if (quoted) throw new Error(`token file, line ${lineNumber}: a quote is not closed`);
  columns.push(column.trim());
  return columns;
}
