import { existsSync } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { OptionError, parseOptions, type Command, type OptionTable } from '@multiplane/component-base';
import {
  authorityFiles,
  authorityNames,
  CertificateAuthority,
  pairFiles,
  readPair,
  writeCertificate,
} from '@multiplane/component-base/pki';
import type { Environment } from './server-command.ts';

const table = {
  directory: { type: 'text', default: '.multiplane/pki', description: 'Folder created by `pki init`.' },
  authority: {
    type: 'text',
    choices: authorityNames,
    description: 'Issuing CA; default: serving-ca for a server, client-ca for a client.',
  },
  hosts: { type: 'list', description: 'Names and addresses of a server.' },
  user: { type: 'text', description: 'User name of a client.' },
  groups: { type: 'list', description: 'Groups of a client.' },
  days: { type: 'number', default: 365, min: 1, max: 36_500, description: 'Validity in days.' },
  force: { type: 'boolean', default: false, description: 'Replace an existing certificate.' },
} as const satisfies OptionTable;

/** `multiplane pki issue`. */
export const pkiIssueCommand = (environment: Environment): Command => ({
  help: {
    usage: 'multiplane pki issue <name> --hosts a,b | --user name [--groups c,d] [flags]',
    description: 'Creates <name>/tls.crt and <name>/tls.key in the folder.',
    sections: { Flags: table },
  },
  run: async (args) => {
    const { values, operands } = parseOptions(table, { args, environment });
    const [name, ...more] = operands;
    if (name === undefined || more.length > 0) throw new OptionError('expected exactly one name');
    if (!/^[a-z\d]([-a-z\d.]*[a-z\d])?$/.test(name))
      throw new OptionError(`${JSON.stringify(name)} is not a valid name`);
    const { user, hosts, groups, days } = values;
    if ((user === undefined) === (hosts.length === 0))
      throw new OptionError('exactly one of --hosts and --user is required');
    if (user === undefined && groups.length > 0) throw new OptionError('--groups requires --user');
    const directory = resolve(values.directory);
    const files = pairFiles(directory, name);
    const existing = [files.certificateFile, files.privateKeyFile].find((file) => existsSync(file));
    if (existing !== undefined && !values.force) throw new OptionError(`${existing} exists; --force replaces it`);
    const signer = authorityFiles(directory, values.authority ?? (user === undefined ? 'serving-ca' : 'client-ca'));
    const stored = readPair(signer);
    if (stored === undefined)
      throw new OptionError(`${signer.certificateFile} does not exist; run multiplane pki init`);
    const authority = await CertificateAuthority.load(stored);
    const pair =
      user === undefined
        ? await authority.issueServer(
            {
              commonName: name,
              dnsNames: hosts.filter((host) => isIP(host) === 0),
              ipAddresses: hosts.filter((host) => isIP(host) !== 0),
            },
            days,
          )
        : await authority.issueClient({ user, groups }, days);
    await writeCertificate(files, pair);
    process.stdout.write(`${files.certificateFile}\n${files.privateKeyFile}\n`);
    return 0;
  },
});
