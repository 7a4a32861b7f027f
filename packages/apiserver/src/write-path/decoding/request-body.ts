import { statusErrors } from '@multiplane/apimachinery';
import type { RequestContext } from '@multiplane/generic-server';
import type { YamlDocument } from './yaml-reader.ts';

/** Largest body of a request; as Kubernetes. */
export const maxBodyBytes = 3 * 1024 * 1024;

const bodyMediaTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'] as const;
export type BodyFormat = 'json' | 'yaml' | 'protobuf';

/** A body as it was sent; it can be decoded more than once. */
export interface RequestBody {
  readonly bytes: Buffer;
  readonly format: BodyFormat;
  /** Of a YAML body. */
  readonly yaml?: YamlDocument;
}

/** Media type of the body in lower case, without parameters; empty without a Content-Type. */
export function contentTypeOf(context: RequestContext): string {
  const header = context.exchange.headers['content-type'];
  const text = (Array.isArray(header) ? header[0] : header) as string | undefined;
  if (text === undefined) return '';
  const semicolon = text.indexOf(';');
  return (semicolon < 0 ? text : text.slice(0, semicolon)).trim().toLowerCase();
}

/** Format of a body that contains an object; throws 415. */
export function bodyFormat(context: RequestContext): BodyFormat {
  switch (contentTypeOf(context)) {
    case '':
    case 'application/json':
      return 'json';
    case 'application/yaml':
      return 'yaml';
    case 'application/vnd.kubernetes.protobuf':
      return 'protobuf';
    default:
      throw statusErrors.unsupportedMediaType(bodyMediaTypes);
  }
}
