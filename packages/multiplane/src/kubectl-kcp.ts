import { runProgram } from './run-program.ts';

await runProgram('kubectl-kcp', () => import('./programs/kubectl-kcp.ts'));
