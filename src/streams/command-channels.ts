/** The stream of exec and attach that a WebSocket message belongs to: its first byte. */
export const CHANNEL = {
  stdin: 0,
  stdout: 1,
  stderr: 2,
  error: 3,
  resize: 4,
  /** The next byte is the channel that ends; from v5 on. */
  end: 255,
} as const;
