import { describePage } from '../harness/documentation.ts';

describePage('native-kinds.md', { nativeKinds: true });
