import { MessageQueue } from '../../../host/message-queue.ts';
import type { AttachedStreams, MonitoredContainer } from '../oci-runtime.ts';

type Size = { readonly width: number; readonly height: number };

/** The clients attached to one in-memory container, and their input. */
export class MemoryAttachments {
  /** Input of all clients. */
  typed = '';
  /** Whether standard input has ended. */
  inputEnded = false;
  /** The last requested terminal size. */
  size: Size | undefined;
  readonly #container: MonitoredContainer;
  readonly #open = new Set<{ readonly packets: MessageQueue; readonly room: () => Promise<void> | undefined }>();
  #isOver = false;

  constructor(container: MonitoredContainer) {
    this.#container = container;
  }

  get count(): number {
    return this.#open.size;
  }

  attach(): AttachedStreams {
    let room: PromiseWithResolvers<void> | undefined;
    const resume = (): void => {
      room?.resolve();
      room = undefined;
    };
    const packets = new MessageQueue({
      pause: () => {
        room ??= Promise.withResolvers();
      },
      resume,
    });
    const attached = { packets, room: () => room?.promise };
    if (this.#isOver) packets.end();
    else this.#open.add(attached);
    return {
      output: decodePackets(packets),
      write: async (data) => {
        if (this.#container.stdin && !this.inputEnded) this.typed += new TextDecoder().decode(data);
      },
      closeInput: () => this.#endInput(),
      resize: async (size) => {
        if (this.#container.terminal) this.size = size;
      },
      detach: () => {
        if (!this.#open.delete(attached)) return;
        packets.end();
        resume();
        this.#endInput();
      },
    };
  }

  /** Writes as the container's first process; resolves when each client can take more. */
  async write(stream: 'stdout' | 'stderr', text: string): Promise<void> {
    const mark = stream === 'stdout' || this.#container.terminal ? STDOUT : STDERR;
    const packet = Uint8Array.of(mark, ...new TextEncoder().encode(text));
    const open = [...this.#open];
    for (const { packets } of open) packets.push(packet);
    await Promise.all(open.map(({ room }) => room()));
  }

  /** Ends the streams with the container. */
  end(): void {
    this.#isOver = true;
    for (const { packets } of this.#open) packets.end();
    this.#open.clear();
  }

  #endInput(): void {
    if (this.#container.stdin && this.#container.stdinOnce) this.inputEnded = true;
  }
}

const STDOUT = 2;
const STDERR = 3;

async function* decodePackets(packets: AsyncIterable<Uint8Array>): AttachedStreams['output'] & AsyncGenerator {
  for await (const packet of packets) {
    yield { stream: packet[0] === STDERR ? 'stderr' : 'stdout', data: packet.subarray(1) };
  }
}
