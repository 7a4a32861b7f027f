import {
  fieldErrors,
  quote,
  splitUrl,
  validateDns1123Subdomain,
  type FieldError,
  type FieldPath,
  type Json,
} from '@multiplane/apimachinery';
import { at, numberAt, objectAt, textAt } from './fields.ts';

const desired = '; desired format: https://host[/path]';

/** Where a webhook may be called by URL: https, a host, and nothing that does not name a place. */
export function webhookUrlErrors(text: string, path: FieldPath): FieldError[] {
  const parts = splitUrl(text);
  if (parts === undefined) {
    const why = text.startsWith(':') ? 'missing protocol scheme' : 'invalid URL';
    return [fieldErrors.required(path, `url must be a valid URL: parse ${quote(text)}: ${why}${desired}`)];
  }
  const errors: FieldError[] = [];
  const wrong = (value: string, detail: string): void => void errors.push(fieldErrors.invalid(path, value, detail));
  if (parts.scheme !== 'https') wrong(parts.scheme, `'https' is the only allowed URL scheme${desired}`);
  if (parts.host === '') wrong(parts.host, `host must be specified${desired}`);
  if (parts.user !== undefined) wrong(parts.user, 'user information is not permitted in the URL');
  if (parts.fragment !== '') wrong(parts.fragment, 'fragments are not permitted in the URL');
  if (parts.query !== '') wrong(parts.query, 'query parameters are not permitted in the URL');
  return errors;
}

function webhookServiceErrors(service: Json, path: FieldPath): FieldError[] {
  const errors: FieldError[] = [];
  if (textAt(service, 'name') === '') errors.push(fieldErrors.required(path.child('name')));
  if (textAt(service, 'namespace') === '') errors.push(fieldErrors.required(path.child('namespace')));
  const port = numberAt(service, 'port') ?? 443;
  if (port < 1 || port > 65535) {
    errors.push(
      fieldErrors.invalid(path.child('port'), port, 'port is not valid: must be between 1 and 65535, inclusive'),
    );
  }
  errors.push(...urlPathErrors(textAt(service, 'path'), path.child('path')));
  return errors;
}

function urlPathErrors(text: string, path: FieldPath): FieldError[] {
  if (text === '' || text === '/') return [];
  const wrong = (detail: string): FieldError => fieldErrors.invalid(path, text, detail);
  if (text === '//') return [wrong('segment[0] may not be empty')];
  const errors = text.startsWith('/') ? [] : [wrong("must start with a '/'")];
  const rest = text.slice(1);
  const segments = (rest.endsWith('/') ? rest.slice(0, -1) : rest).split('/');
  for (const [index, segment] of segments.entries()) {
    if (segment === '') errors.push(wrong(`segment[${index}] may not be empty`));
    else errors.push(...validateDns1123Subdomain(segment).map((message) => wrong(`segment[${index}]: ${message}`)));
  }
  return errors;
}

/** `clientConfig` of a webhook: a URL or a service, never both. */
export function webhookClientErrors(config: Json | undefined, path: FieldPath): FieldError[] {
  const address = at(config, 'url');
  const service = objectAt(config, 'service');
  if ((address === undefined) === (service === undefined)) {
    return [fieldErrors.required(path, 'exactly one of url or service is required')];
  }
  return service === undefined
    ? webhookUrlErrors(textAt(config, 'url'), path.child('url'))
    : webhookServiceErrors(service, path.child('service'));
}
