import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeJwt } from '../harness/jwt.ts';
import { cells, describeWithKubectl, type Kubectl } from '../harness/kubectl.ts';
import { KubectlWorkspace } from '../harness/kubectl-workspace.ts';
import { testTokens } from '../harness/local-cluster.ts';
import { signingRequest } from '../fixtures/signing-request.ts';

describeWithKubectl('kubectl and access', () => {
  let workspace: KubectlWorkspace;
  let kubectl: Kubectl;
  let user: Kubectl;

  beforeAll(async () => {
    workspace = await KubectlWorkspace.start();
    kubectl = workspace.kubectl;
    user = await workspace.as(testTokens['user-1']);
  }, 180_000);

  afterAll(() => workspace?.[Symbol.asyncDispose]());

  test('create role, clusterrole, rolebinding and clusterrolebinding, and what they allow', async () => {
    expect(await user.fails(['get', 'configmaps'])).toContain(
      'Error from server (Forbidden): configmaps is forbidden: User "user-1" cannot list resource "configmaps" in API group "" in the namespace "e2e"',
    );
    expect(
      await kubectl.ok([
        'create',
        'role',
        'reader',
        '--verb=get,list,watch',
        '--resource=configmaps,leases.coordination.k8s.io',
      ]),
    ).toBe('role.rbac.authorization.k8s.io/reader created\n');
    expect(
      await kubectl.ok([
        'create',
        'rolebinding',
        'reader',
        '--role=reader',
        '--user=user-1',
        '--serviceaccount=e2e:robot',
      ]),
    ).toBe('rolebinding.rbac.authorization.k8s.io/reader created\n');
    expect(await kubectl.ok(['create', 'clusterrole', 'ns-lister', '--verb=list', '--resource=namespaces'])).toBe(
      'clusterrole.rbac.authorization.k8s.io/ns-lister created\n',
    );
    expect(await kubectl.ok(['create', 'clusterrole', 'paths', '--verb=get', '--non-resource-url=/logs/*'])).toBe(
      'clusterrole.rbac.authorization.k8s.io/paths created\n',
    );
    expect(
      await kubectl.ok([
        'create',
        'clusterrolebinding',
        'ns-lister',
        '--clusterrole=ns-lister',
        '--group=team',
        '--user=user-1',
      ]),
    ).toBe('clusterrolebinding.rbac.authorization.k8s.io/ns-lister created\n');
    const role = await kubectl.json<{ rules: unknown }>(['get', 'role', 'reader']);
    expect(role.rules).toEqual([
      { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list', 'watch'] },
      { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'watch'] },
    ]);
    expect(await user.ok(['get', 'configmaps', '-o', 'name'])).toContain('configmap/kube-root-ca.crt');
    expect(await user.ok(['get', 'ns', '-o', 'name'])).toContain('namespace/e2e');
    expect(await user.fails(['delete', 'configmap', 'kube-root-ca.crt'])).toContain(
      'cannot delete resource "configmaps"',
    );
    expect(await user.fails(['get', 'secrets'])).toContain('cannot list resource "secrets"');
  });

  test('auth can-i, with its exit status, and --list', async () => {
    expect(await kubectl.ok(['auth', 'can-i', '*', '*'])).toBe('yes\n');
    expect(await user.ok(['auth', 'can-i', 'list', 'configmaps'])).toBe('yes\n');
    expect(await user.ok(['auth', 'can-i', 'get', 'leases', '-n', 'e2e'])).toBe('yes\n');
    const no = await user.run(['auth', 'can-i', 'create', 'configmaps']);
    expect([no.code, no.stdout]).toEqual([1, expect.stringMatching(/^no/)]);
    expect((await user.run(['auth', 'can-i', 'list', 'configmaps', '-n', 'default'])).stdout).toMatch(/^no/);
    expect((await kubectl.run(['auth', 'can-i', 'list', 'secrets', '--as=user-1'])).stdout).toMatch(/^no/);
    const rows = cells(await user.ok(['auth', 'can-i', '--list']));
    expect(rows[0]).toEqual(['Resources', 'Non-Resource URLs', 'Resource Names', 'Verbs']);
    expect(rows).toContainEqual(['configmaps', '[]', '[]', '[get list watch]']);
    expect(rows).toContainEqual(['leases.coordination.k8s.io', '[]', '[]', '[get list watch]']);
    expect(rows).toContainEqual(['namespaces', '[]', '[]', '[list]']);
    expect(rows).toContainEqual(['selfsubjectreviews.authentication.k8s.io', '[]', '[]', '[create]']);
  });

  test('auth whoami', async () => {
    expect(cells(await kubectl.ok(['auth', 'whoami']))).toEqual(
      expect.arrayContaining([
        ['ATTRIBUTE', 'VALUE'],
        ['Username', 'admin'],
        ['Groups', '[system:masters system:authenticated]'],
      ]),
    );
    expect(await user.ok(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'])).toBe('user-1');
  });

  test('--as, --as-group and --as-uid impersonate, and only with the right to', async () => {
    expect(
      await kubectl.ok([
        'auth',
        'whoami',
        '--as=user-2',
        '--as-group=team',
        '--as-uid=u1',
        '-o',
        'jsonpath={.status.userInfo.username} {.status.userInfo.uid} {.status.userInfo.groups}',
      ]),
    ).toBe('user-2 u1 ["team","system:authenticated"]');
    expect(await kubectl.fails(['get', 'secrets', '--as=user-1'])).toContain(
      'User "user-1" cannot list resource "secrets"',
    );
    expect(await kubectl.ok(['get', 'configmaps', '-o', 'name', '--as=user-1'])).toContain('configmap/');
    expect(await user.fails(['get', 'configmaps', '--as=admin'])).toContain('cannot impersonate');
    expect(await user.fails(['get', 'configmaps', '--as=user-1', '--as-group=system:masters'])).toContain('orbidden');
    expect(await kubectl.fails(['get', 'configmaps', '--as-group=team'])).toMatch(/without impersonating a user/);
  });

  test('auth reconcile', async () => {
    const desired = JSON.stringify({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'reader', namespace: 'e2e' },
      rules: [{ apiGroups: [''], resources: ['secrets'], verbs: ['list'] }],
    });
    expect(await kubectl.ok(['auth', 'reconcile', '-f', '-'], { stdin: desired })).toContain(
      'role.rbac.authorization.k8s.io/reader reconciled',
    );
    expect(await user.ok(['auth', 'can-i', 'list', 'secrets'])).toBe('yes\n');
    expect(await user.ok(['auth', 'can-i', 'list', 'configmaps'])).toBe('yes\n');
  });

  test('create serviceaccount and create token; the token works, is bound and ends with its object', async () => {
    expect(await kubectl.ok(['create', 'serviceaccount', 'robot'])).toBe('serviceaccount/robot created\n');
    const token = (await kubectl.ok(['create', 'token', 'robot', '--duration=20m'])).trim();
    const claims = decodeJwt(token);
    expect(claims).toMatchObject({
      sub: 'system:serviceaccount:e2e:robot',
      'kubernetes.io': { namespace: 'e2e', serviceaccount: { name: 'robot' } },
    });
    expect((claims['exp'] as number) - (claims['iat'] as number)).toBe(1200);
    const robot = await workspace.as(token);
    expect(await robot.ok(['auth', 'whoami', '-o', 'jsonpath={.status.userInfo.username}'])).toBe(
      'system:serviceaccount:e2e:robot',
    );
    expect(await robot.ok(['get', 'cm', '-o', 'name'])).toContain('configmap/');
    expect(await robot.fails(['get', 'sa'])).toContain(
      'User "system:serviceaccount:e2e:robot" cannot list resource "serviceaccounts"',
    );

    const foreign = (await kubectl.ok(['create', 'token', 'robot', '--audience=another-audience'])).trim();
    expect(decodeJwt(foreign)['aud']).toEqual(['another-audience']);
    expect(await (await workspace.as(foreign)).fails(['get', 'cm'])).toMatch(/Unauthorized|must be logged in/);

    await kubectl.ok(['create', 'secret', 'generic', 'binding']);
    const bound = (
      await kubectl.ok(['create', 'token', 'robot', '--bound-object-kind=Secret', '--bound-object-name=binding'])
    ).trim();
    const boundRobot = await workspace.as(bound);
    expect(await boundRobot.ok(['get', 'cm', '-o', 'name'])).toContain('configmap/');
    await kubectl.ok(['delete', 'secret', 'binding']);
    expect(await boundRobot.fails(['get', 'cm'])).toMatch(/Unauthorized|must be logged in/);
    await kubectl.ok(['delete', 'sa', 'robot']);
    expect(await robot.fails(['get', 'cm'])).toMatch(/Unauthorized|must be logged in/);
    expect(await kubectl.fails(['create', 'token', 'missing'])).toContain('serviceaccounts "missing" not found');
  });

  test('create secret, configmap, namespace and quota', async () => {
    const file = kubectl.file('payload.txt', 'line\n');
    expect(await kubectl.ok(['create', 'configmap', 'from', `--from-file=${file}`, '--from-literal=a=b'])).toBe(
      'configmap/from created\n',
    );
    expect((await kubectl.json<{ data: unknown }>(['get', 'cm', 'from'])).data).toEqual({
      'payload.txt': 'line\n',
      a: 'b',
    });
    expect(
      await kubectl.ok([
        'create',
        'configmap',
        'from-env',
        `--from-env-file=${kubectl.file('vars.env', 'X=1\nY=two\n')}`,
      ]),
    ).toBe('configmap/from-env created\n');
    expect((await kubectl.json<{ data: unknown }>(['get', 'cm', 'from-env'])).data).toEqual({ X: '1', Y: 'two' });
    expect(
      await kubectl.ok([
        'create',
        'secret',
        'generic',
        'basic',
        '--type=kubernetes.io/basic-auth',
        '--from-literal=username=u',
        '--from-literal=password=p',
      ]),
    ).toBe('secret/basic created\n');
    expect(await kubectl.ok(['get', 'secret', 'basic', '-o', 'jsonpath={.type} {.data.password}'])).toBe(
      `kubernetes.io/basic-auth ${Buffer.from('p').toString('base64')}`,
    );
    expect(await kubectl.fails(['create', 'secret', 'generic', 'bad', '--type=kubernetes.io/basic-auth'])).toContain(
      'data[username]: Required value',
    );
    expect(
      await kubectl.ok([
        'create',
        'secret',
        'docker-registry',
        'registry',
        '--docker-username=u',
        '--docker-password=p',
        '--docker-server=example.com',
      ]),
    ).toBe('secret/registry created\n');
    expect(await kubectl.fails(['create', 'configmap', 'from'])).toContain(
      'error: failed to create configmap: configmaps "from" already exists',
    );
    expect(await kubectl.ok(['create', 'namespace', 'limited'])).toBe('namespace/limited created\n');
    expect(await kubectl.fails(['create', 'namespace', 'Bad_Name'])).toContain(
      'metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 label must consist of',
    );
    expect(await kubectl.ok(['create', 'quota', 'few', '--hard=count/secrets=1,configmaps=2', '-n', 'limited'])).toBe(
      'resourcequota/few created\n',
    );
    await kubectl.ok([
      'wait',
      '--for=jsonpath={.status.hard.configmaps}=2',
      'quota/few',
      '-n',
      'limited',
      '--timeout=15s',
    ]);
    await kubectl.ok(['create', 'secret', 'generic', 'first', '-n', 'limited']);
    await kubectl.ok([
      'wait',
      '--for=jsonpath={.status.used.count/secrets}=1',
      'quota/few',
      '-n',
      'limited',
      '--timeout=15s',
    ]);
    expect(await kubectl.ok(['describe', 'quota', 'few', '-n', 'limited'])).toMatch(/count\/secrets +1 +1/);
  });

  test('certificate approve and deny', async () => {
    const request = (name: string): Record<string, unknown> => ({
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name },
      spec: {
        request: Buffer.from(signingRequest).toString('base64'),
        signerName: 'e2e.example.com/signer',
        usages: ['client auth'],
        expirationSeconds: 3600,
      },
    });
    await kubectl.create(request('good'), request('bad'));
    expect(cells(await kubectl.ok(['get', 'csr', 'good', '--no-headers']))[0]?.slice(2)).toEqual([
      'e2e.example.com/signer',
      'admin',
      '60m',
      'Pending',
    ]);
    expect(await kubectl.ok(['certificate', 'approve', 'good'])).toBe(
      'certificatesigningrequest.certificates.k8s.io/good approved\n',
    );
    expect(await kubectl.ok(['certificate', 'deny', 'bad'])).toBe(
      'certificatesigningrequest.certificates.k8s.io/bad denied\n',
    );
    const states = cells(await kubectl.ok(['get', 'csr', '--no-headers'])).map((row) => [row[0], row.at(-1)]);
    expect(states).toEqual([
      ['bad', 'Denied'],
      ['good', 'Approved'],
    ]);
    await kubectl.ok(['wait', '--for=condition=Approved', 'csr/good', '--timeout=5s']);
    expect(await kubectl.ok(['describe', 'csr', 'good'])).toMatch(/Signer: +e2e\.example\.com\/signer/);
    expect(await user.fails(['certificate', 'approve', 'bad'])).toContain('orbidden');
  });
});
