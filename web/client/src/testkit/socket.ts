import { FakeSocket as Base } from "../testing/socket";

/** The fake socket, with all that a test opened. */
export class FakeSocket extends Base {
  static all: FakeSocket[] = [];

  constructor(...args: ConstructorParameters<typeof Base>) {
    super(...args);
    FakeSocket.all.push(this);
  }
}

export const openLine = (...args: ConstructorParameters<typeof FakeSocket>) =>
  new FakeSocket(...args);
