/** Writes src/cri/generated. */
import type { Generated } from './generate.ts';
import { generateProto, type ProtoFile } from './generate-proto.ts';

const ANY = 'google/protobuf/any.proto';
const EMPTY = 'google/protobuf/empty.proto';
const TIMESTAMP = 'google/protobuf/timestamp.proto';

const PROTO_FILES: readonly ProtoFile[] = [
  { name: 'runtime-v1', tables: ['cri-runtime-v1'] },
  {
    name: 'containerd-events',
    tables: ['containerd-events-container', 'containerd-events-task'],
    imports: [ANY, TIMESTAMP],
    messages: ['ContainerCreate', 'ContainerCreate.Runtime', 'ContainerDelete', 'TaskStart', 'TaskDelete'],
  },
  { name: 'containerd-types-event', tables: ['containerd-types-event'], imports: [ANY, TIMESTAMP] },
  {
    name: 'containerd-services-events-v1',
    tables: ['containerd-services-events-v1-events'],
    imports: [ANY, EMPTY, 'containerd-types-event.proto'],
  },
];

/** The same tables and node_modules give the same text. */
export function generateCri(root: string): Generated {
  return generateProto(root, 'src/cri/generated', PROTO_FILES);
}
