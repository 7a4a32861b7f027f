export { EventRecorder } from '@multiplane/client';
