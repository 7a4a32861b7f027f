import type { IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { refuseOtherSites } from './cross-site.ts';

const request = (headers: Record<string, string>): IncomingMessage =>
  ({ method: 'POST', headers }) as unknown as IncomingMessage;

test.each([{ host: 'plane.example:6443' }, { ':authority': 'plane.example:6443' }])(
  'the origin of the console is the host of the request, over HTTP/1.1 and HTTP/2: %o',
  (headers) => {
    const check = (origin: string) => () => refuseOtherSites(request({ ...headers, origin }), undefined);
    expect(check('https://plane.example:6443')).not.toThrow();
    expect(check('https://other.example')).toThrow('another origin');
  },
);
