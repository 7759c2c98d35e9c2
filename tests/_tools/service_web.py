"""The API without a network: requests go straight into the application, from a thread that may wait for them."""

import asyncio

import httpx
from anyio.from_thread import start_blocking_portal


class Web:
    """A client of an application, which it starts and stops.

    One task lives as long as it does: threads that the application works in go with the task that they began in.
    """

    def __init__(self, app, key):
        self.app, self.key = app, key

    def __enter__(self):
        self._loop = start_blocking_portal()
        self._call = self._loop.__enter__().call
        self._call(self._begin)
        return self

    def __exit__(self, *error):
        self._call(self._end)
        self._loop.__exit__(*error)

    async def _begin(self):
        self._said, self._heard = asyncio.Queue(), asyncio.Queue()
        self._living = asyncio.create_task(self.app({"type": "lifespan"}, self._said.get, self._heard.put))
        await self._said.put({"type": "lifespan.startup"})
        assert (await self._heard.get())["type"] == "lifespan.startup.complete"
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {self.key}"}
        self._client = httpx.AsyncClient(transport=transport, base_url="http://service", headers=headers)

    async def _end(self):
        await self._client.aclose()
        await self._said.put({"type": "lifespan.shutdown"})
        await self._living

    def request(self, method, path, **more):
        return self._call(lambda: self._client.request(method, path, **more))

    def together(self, *requests, **more):
        """Many requests at the same time, each as its method, path and body."""

        async def all_of_them():
            sent = [self._client.request(method, path, json=body, **more) for method, path, body in requests]
            return await asyncio.gather(*sent)

        return self._call(all_of_them)

    def get(self, path, **more):
        return self.request("GET", path, **more)

    def post(self, path, **more):
        return self.request("POST", path, **more)

    def put(self, path, **more):
        return self.request("PUT", path, **more)

    def delete(self, path, **more):
        return self.request("DELETE", path, **more)
