import {
  parseFieldSelector,
  parseQueryBoolean,
  statusErrors,
  validatePathSegmentName,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import type { RequestInfo } from './request-info.ts';
import type { RequestPath } from './request-path.ts';

const namespaceSubresources = new Set(['status', 'finalize']);
const none: readonly string[] = [];
const emptyQuery = new URLSearchParams();

class ResolvedRequestInfo implements RequestInfo {
  isResourceRequest = false;
  verb = '';
  apiPrefix = '';
  group = '';
  version = '';
  namespace = '';
  resource = '';
  subresource = '';
  name = '';
  parts: readonly string[] = none;
  readonly path: string;
  readonly cluster: LogicalClusterName | '*' | undefined;
  readonly rawQuery: string;
  #query: URLSearchParams | undefined;

  constructor(path: string, cluster: LogicalClusterName | '*' | undefined, rawQuery: string) {
    this.path = path;
    this.cluster = cluster;
    this.rawQuery = rawQuery;
  }
  /** Parsed on first use: most requests have no query. */
  get query(): URLSearchParams {
    return (this.#query ??= this.rawQuery === '' ? emptyQuery : new URLSearchParams(this.rawQuery));
  }
}

/**
 * Classifies a request by method and path, like `RequestInfoFactory` of kube-apiserver. `cluster` is the logical cluster that
 * `/clusters/<x>` resolved to. A list, watch or deletecollection with the field selector `metadata.name=x` has the name `x`,
 * so that permission for one object suffices.
 */
export function resolveRequestInfo(
  method: string,
  target: RequestPath,
  cluster: LogicalClusterName | '*' | undefined,
): RequestInfo {
  const info = new ResolvedRequestInfo(target.path, cluster, target.query);
  const { segments } = target;
  const prefix = segments[0];
  const versionAt = prefix === 'api' ? 1 : 2;
  if ((prefix !== 'api' && prefix !== 'apis') || segments.length < versionAt + 2) {
    info.verb = method.toLowerCase();
    return info;
  }
  info.isResourceRequest = true;
  info.apiPrefix = prefix;
  if (prefix === 'apis') info.group = segments[1] as string;
  info.version = segments[versionAt] as string;

  let at = versionAt + 1;
  const special = segments[at] as string;
  const byPrefix = special === 'watch' || special === 'proxy';
  if (byPrefix) {
    if (segments.length < at + 2) throw undeterminable(segments);
    info.verb = special;
    at++;
  } else {
    info.verb = verbOfMethod(method);
  }
  if (segments[at] === 'namespaces' && segments.length > at + 1) {
    info.namespace = segments[at + 1] as string;
    const third = segments[at + 2];
    if (third !== undefined && !namespaceSubresources.has(third)) at += 2;
  }
  info.resource = segments[at] as string;
  info.name = segments[at + 1] ?? '';
  if (!byPrefix) info.subresource = segments[at + 2] ?? '';
  if (segments.length > at + 1) info.parts = segments.slice(at + 1);
  if (info.name === '' && !byPrefix) refineCollectionVerb(info);
  return info;
}

/** Without a name, get becomes list or watch, and delete becomes deletecollection. */
function refineCollectionVerb(info: ResolvedRequestInfo): void {
  if (info.verb === 'get') info.verb = isWatch(info) ? 'watch' : 'list';
  else if (info.verb === 'delete') info.verb = 'deletecollection';
  else return;
  if (!info.rawQuery.includes('fieldSelector')) return;
  info.name = selectedName(info.query.get('fieldSelector') ?? '');
}

/** An invalid selector has no name: the endpoint rejects it after authorization. */
function selectedName(selector: string): string {
  try {
    const name = parseFieldSelector(selector).exactValue('metadata.name') ?? '';
    return validatePathSegmentName(name).length === 0 ? name : '';
  } catch {
    return '';
  }
}

function isWatch(info: ResolvedRequestInfo): boolean {
  return info.rawQuery.includes('watch') && parseQueryBoolean(info.query.get('watch'));
}

function verbOfMethod(method: string): string {
  switch (method) {
    case 'GET':
    case 'HEAD':
      return 'get';
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return 'delete';
    default:
      return '';
  }
}

const undeterminable = (segments: readonly string[]): Error =>
  statusErrors.badRequest(`unable to determine kind and namespace from url, [${segments.join(' ')}]`);
