import { runProgram } from './run-program.ts';

await runProgram('kubectl-ws', () => import('./programs/kubectl-ws.ts'));
