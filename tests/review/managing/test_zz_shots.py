import random
import threading
from datetime import timedelta
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import sync_playwright
from waitress.server import create_server

from medrcube.review import comments, decisions, gold
from medrcube.review.decisions import Edit
from medrcube.review.models import *
from medrcube.review.queue import claim_next

OUT = Path("/tmp/6d.shots")
PW = "correct horse battery staple"


def test_shots(database, project, person, add_shown, review, monkeypatch):
    OUT.mkdir(exist_ok=True)
    project(gold_rate=0.0)
    rng = random.Random(4)
    kinds = [("Brain", "MRI"), ("Lungs", "CT"), ("Breast", "Ultrasound"), ("Chest", "X-ray")]
    tasks = ["Abnormality Diagnosis", "Modality Recognition", "Disease Diagnosis"]
    for n in range(90):
        a, m = rng.choice(kinds)
        t = rng.choice(tasks)
        add_shown(
            anatomy=a,
            modality=m,
            task=t,
            stratum=f"{m} | {t} | {rng.choice(['knowledge', 'predefined'])}",
            source=rng.choice(["toy", "isles2022", "mosmed"]),
        )
    rs = [
        person(email=f"r{n}@example.org", pseudonym=f"reader-{n:08x}", specialties=["Brain"])
        for n in (7, 8, 9)
    ]
    now = timezone.now() - timedelta(days=2)
    codes = ["AMBIGUOUS_STEM", "DISTRACTOR_CORRECT", "KEY_WRONG", "TRIVIAL", "IMAGE_QUALITY"]
    for k in range(150):
        r = rng.choice(rs)
        now += timedelta(seconds=rng.choice([20, 45, 80, 100, 150, 200, 400]))
        c = claim_next(r, now)
        if c is None:
            continue
        d = rng.choices(["accept", "revise", "reject"], [8, 1, 1])[0]
        done = now + timedelta(seconds=rng.choice([12, 28, 40, 55, 70, 85, 110, 160, 240]))
        from medrcube.review.queue import Answer, Ruling, answer_blind, submit

        answer_blind(
            c.token,
            r,
            Answer(
                option=rng.choice([0] * 9 + [1, None]),
                confidence=rng.choice([1, 2, 3]),
                needs_image="yes",
                image_adequate=True,
            ),
            done,
        )
        reasons = (
            ()
            if d == "accept"
            else tuple(
                {
                    (x, 1 if x.startswith("D") else None)
                    for x in rng.sample(codes, rng.choice([1, 2]))
                }
            )
        )
        if rng.random() < 0.03:
            reasons, d = (("PHI", None),), "reject"
        submit(
            c.token,
            r,
            Ruling(
                decision=d,
                reasons=reasons,
                comment=""
                if d == "accept"
                else "Option B fits as well; the stem could name the sequence.",
                checklist={"key_correct": d == "accept", "stem_clear": True},
                verdicts={"1": "also_correct"} if d != "accept" else {},
            ),
            done,
        )
    boss = person("manager", email="manager@example.org")
    judge = person("adjudicator", email="judge@example.org")
    admin = person("administrator", email="admin@example.org")
    acc = [i for i in Item.objects.filter(state="accepted")]
    v = acc[0].versions.get(number=1)
    decisions.edit(
        acc[0].pk,
        1,
        judge,
        Edit(
            question="Which abnormality is marked in this axial MRI slice of the brain?",
            options=("Vasogenic oedema", "Haemorrhage", "Calcification", "Cyst"),
            key=0,
            note="Says what is marked, names the kind of oedema.",
        ),
    )
    comments.add(acc[0].pk, 2, boss, "Is the term in RadLex?")
    gold.make_gold(
        acc[1].pk,
        1,
        boss,
        defect="KEY_WRONG",
        change=Edit(
            question=v.question,
            options=("Oedema", "Haemorrhage", "Calcification", "Cyst"),
            key=2,
            note="key moved",
        ),
    )
    User.objects.filter(pk=rs[2].pk).update(paused=True)
    disp = Item.objects.filter(state="adjudication").first()
    for n, d in ((1, "reject"),):
        pass
    from medrcube.review.wsgi import application

    made = create_server(application, host="127.0.0.1", port=0, threads=4)
    th = threading.Thread(target=made.run, daemon=True)
    th.start()
    base = f"http://127.0.0.1:{made.effective_port}"
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    bad = []
    try:
        with sync_playwright() as p:
            b = p.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            for who, pages in {
                "manager": [
                    ("items", "/items/"),
                    ("items_f", "/items/?state=adjudication&task=Disease+Diagnosis"),
                    ("item", f"/items/{acc[0].pk}/"),
                    ("item2", f"/items/{disp.pk}/"),
                    ("edit", f"/items/{disp.pk}/edit/"),
                    ("goldp", f"/items/{acc[2].pk}/gold/"),
                    ("quarantine", "/quarantine/"),
                    ("dashboard", "/dashboard/"),
                    ("agreement", "/dashboard/agreement/"),
                    (
                        "stratum",
                        "/dashboard/agreement/?stratum=CT+%7C+Modality+Recognition+%7C+predefined",
                    ),
                ],
                "judge": [
                    ("home", "/"),
                    ("adjudication", "/adjudication/"),
                    ("adjudicate", f"/adjudication/{disp.pk}/"),
                ],
                "admin": [
                    ("people", "/people/"),
                    ("person", f"/people/{rs[0].pk}/"),
                    ("trail", "/trail/"),
                ],
            }.items():
                ctx = b.new_context(viewport={"width": 1280, "height": 900})
                page = ctx.new_page()
                page.on("console", lambda m: print("CONSOLE", m.type, m.text))
                page.on("response", lambda r: r.status >= 400 and print("HTTP", r.status, r.url))
                page.goto(base)
                page.fill("#email", f"{who}@example.org")
                page.fill("#password", PW)
                page.click("main button")
                for name, url in pages:
                    page.goto(base + url)
                    page.wait_for_timeout(250)
                    if name == "dashboard":
                        page.locator("details summary").first.click()
                    page.screenshot(path=OUT / f"{name}.png", full_page=True)
                    res = Axe().run(page)
                    if res.violations_count:
                        bad.append(
                            (
                                name,
                                [
                                    (v["id"], [n["target"] for n in v["nodes"]][:4], v["help"])
                                    for v in res.response["violations"]
                                ],
                            )
                        )
                    if name in ("dashboard", "agreement", "item", "adjudicate", "items", "trail"):
                        page.set_viewport_size({"width": 390, "height": 844})
                        page.wait_for_timeout(100)
                        over = page.evaluate(
                            "document.documentElement.scrollWidth - window.innerWidth"
                        )
                        if over > 0:
                            print("OVERFLOW", name, over)
                        page.screenshot(path=OUT / f"{name}_phone.png", full_page=True)
                        page.emulate_media(color_scheme="dark")
                        page.set_viewport_size({"width": 1280, "height": 900})
                        page.wait_for_timeout(200)
                        page.screenshot(path=OUT / f"{name}_dark.png", full_page=True)
                        res = Axe().run(page)
                        if res.violations_count:
                            bad.append(
                                (
                                    name + " dark",
                                    [
                                        (v["id"], [n["target"] for n in v["nodes"]][:4], v["help"])
                                        for v in res.response["violations"]
                                    ],
                                )
                            )
                        page.emulate_media(color_scheme="light")
                if who == "admin":
                    page.goto(base + "/trail/")
                    page.click("text=Check every event")
                    page.wait_for_timeout(200)
                    page.screenshot(path=OUT / "verdict.png")
                    page.goto(base + "/people/")
                    page.fill("input[name=email]", "new@example.org")
                    page.click("form.card button.main, section.card button.main")
                    page.wait_for_timeout(300)
                    page.screenshot(path=OUT / "password.png")
                ctx.close()
            b.close()
    finally:
        made.close()
        th.join(5)
    for x in bad:
        print("AXE", x)
