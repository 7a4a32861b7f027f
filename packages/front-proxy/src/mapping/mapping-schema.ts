import type { ConfigurationSchema } from '@multiplane/component-base';

/** One entry of `--mapping-file`, in kcp's field names. */
export interface MappingEntry {
  readonly path?: string;
  readonly backend?: string;
  readonly backend_server_ca?: string;
  readonly proxy_client_cert?: string;
  readonly proxy_client_key?: string;
  readonly user_header?: string;
  readonly group_header?: string;
  readonly uid_header?: string;
  readonly extra_header_prefix?: string;
}

const file = { type: 'string', description: 'the path of a file' };
/** RFC 9110 5.1; empty means the default. */
const headerName = {
  type: 'string',
  pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]*$",
  description: 'an HTTP header name',
};

/** Structure of `--mapping-file`. Unknown fields are ignored, as kcp does. */
export const mappingFileSchema: ConfigurationSchema = {
  type: 'array',
  description: 'a list of path mappings',
  items: {
    type: 'object',
    description: 'a path mapping',
    properties: {
      path: { type: 'string', pattern: '^(?:/|$)', description: 'a path that begins with a slash' },
      backend: { type: 'string', description: 'a URL' },
      backend_server_ca: file,
      proxy_client_cert: file,
      proxy_client_key: file,
      user_header: headerName,
      group_header: headerName,
      uid_header: headerName,
      extra_header_prefix: headerName,
    },
  },
};
