/** Components of a URL (RFC 3986, appendix B). Absent components are empty; absent user information is undefined. */
export interface UrlParts {
  readonly scheme: string;
  readonly user: string | undefined;
  readonly host: string;
  readonly query: string;
  readonly fragment: string;
}

const url = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s;

/** Splits a URL like Go's `net/url.Parse`, as far as validation needs it. Returns undefined if the text is not a URL. */
export function splitUrl(text: string): UrlParts | undefined {
  // eslint-disable-next-line no-control-regex -- a URL contains no control characters
  if (/[\u0000-\u0020\u007f]/.test(text) || text.startsWith(':')) return undefined;
  const match = url.exec(text);
  if (match === null) return undefined;
  const [, scheme = '', authority = '', , query = '', fragment = ''] = match;
  const sign = authority.lastIndexOf('@');
  return {
    scheme: scheme.toLowerCase(),
    user: sign < 0 ? undefined : authority.slice(0, sign),
    host: authority.slice(sign + 1),
    query,
    fragment,
  };
}
