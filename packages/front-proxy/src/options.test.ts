import { expect, test } from '@jest/globals';
import { parseOptions } from '@multiplane/component-base';
import { completeFrontProxyOptions, frontProxyOptionTable } from './options.ts';

const here = import.meta.filename;
const complete = (...args: string[]) => completeFrontProxyOptions(parseOptions(frontProxyOptionTable, { args }).values);
const needed = ['--mapping-file', here, '--shards-kubeconfig', here];

test('required flags', () => {
  expect(() => complete()).toThrow('--mapping-file is required');
  expect(() => complete('--mapping-file', here)).toThrow('--shards-kubeconfig is required');
  expect(() => complete(...needed, '--tls-cert-file', here)).toThrow('go together');
  expect(() => complete(...needed, '--client-ca-file', '/nowhere')).toThrow(
    '--client-ca-file: /nowhere does not exist',
  );
});

test('derived values', () => {
  const options = complete(...needed, '--root-directory', '/r');
  expect(options).toMatchObject({
    securePort: 443,
    rootKubeconfig: here,
    certificateFile: '/r/apiserver.crt',
    generatesCertificate: true,
    apiAudiences: ['https://kcp.default.svc'],
    authenticationDropGroups: [
      'system:masters',
      'system:kcp:logical-cluster-admin',
      'system:kcp:initializer:*',
      'system:kcp:terminator:*',
    ],
  });
});
